#!/usr/bin/env python3
"""Checks the rollout page in headless Chromium. The test serves the page as the operator does: with a
strict Content-Security-Policy, under a long path prefix, with ETags and server-sent events.

    rollout_page.py PAGE CHROMIUM [--screenshots DIRECTORY]

PAGE is src/service/rollout_page.html. Exit code 77 (skipped) if there is no Chromium.
"""
import argparse
import base64
import collections
import copy
import datetime
import gzip
import hashlib
import http.server
import json
import pathlib
import queue
import re
import shutil
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools" / "upgradectl"))
from timeline_page import Browser, expect  # noqa: E402  (the browser is driven in the same way)
from rollout_layout import expect_contrast, expect_layout  # noqa: E402

PREFIX = "/api/v1/namespaces/gpu-operator/pods/http:gpu-operator-7d9c:8080/proxy/"
# The operator's time, which differs greatly from the browser's time.
NOW = datetime.datetime(2031, 11, 28, 12, 0, 0, tzinfo=datetime.timezone.utc)
BEGAN = NOW - datetime.timedelta(hours=2)
EVIL = "<img src=x onerror=alert(1)>"
IN_PROGRESS = ["cordon-required", "wait-for-jobs-required", "pod-deletion-required", "drain-required",
               "pod-restart-required", "validation-required", "uncordon-required"]
FIRST_DRAW_MS, UPDATE_MS = 1000, 200  # generous, because test machines are slow
MAX_BYTES = 45_000


def ago(seconds):
    return (NOW - datetime.timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def gate(reason, opener, **more):
    return {"reason": reason, "opener": opener, "since": ago(90)} | more


BUDGET_GATE = gate("DisruptionBudget", "Workloads", detail="shop/web-0: refused by disruption budget web",
                   notBefore=ago(-20), failsAt=ago(-1500), subject={"kind": "Pod", "namespace": "shop", "name": "web-0"},
                   advice="Find out why the budget web allows no disruption. A missing replica is the usual cause.",
                   commands=["kubectl get pdb -n shop", "kubectl describe pod -n shop web-0"])
FAILED_GATE = gate("Failed", "Administrator", detail="gpu-operator/driver-7 restarts: CrashLoopBackOff",
                   advice="Remove the cause shown in the history, then retry the node.",
                   commands=["upgradectl retry NODE"])
SLOT_GATE = gate("MaxParallel", "Rollout", detail="maxParallelUpgrades: 2 of 2 slots are taken; place 1 in the queue",
                 count={"used": 2, "limit": 2}, place=1)
APPROVAL_GATE = gate("Approval", "Administrator", detail="stage canary waits for the approval canary@bb88c48c5",
                     subject={"kind": "Approval", "name": "canary@bb88c48c5"},
                     advice="Check the upgraded nodes. If they are healthy, approve the stage.",
                     commands=["upgradectl approve canary"])
HALTED_GATE = gate("Halted", "Administrator", detail="stage canary: 2 nodes failed (limit 1), first: gpu-002; "
                   "to continue, approve canary@bb88c48c5", advice="Check the failed nodes. If you accept them, approve.",
                   commands=["upgradectl status", "upgradectl approve canary"])
SOAK_GATE = gate("Soak", "Clock", detail="stage canary soaks until 12:12:34", notBefore=ago(-754))


def make_node(number, count, state, finished=None):
    """Returns a node of a rollout that starts nodes in the order of their names, and has finished `finished` nodes."""
    name = f"gpu-{number:0{max(3, len(str(count - 1)))}}"
    passed = state in ("upgrade-done", "upgrade-failed")
    since = 6800 * (1 - number / (finished or count)) + 20 if passed else (30 + number * 37 % 500 if state in IN_PROGRESS else 7100)
    node = {"name": name, "pool": "cluster-policy", "state": state, "since": ago(since),
            "revision": "bb88c48c5" if passed or state in IN_PROGRESS[4:] else "6484f6df89", "upToDate": state == "upgrade-done",
            "driverReady": state != "upgrade-failed", "unavailable": state in IN_PROGRESS,
            "stage": "canary" if number < max(2, count // 20) else "early" if number < count * 2 // 5 else "rest",
            "transitions": [{"at": ago(7100), "state": "upgrade-required", "reason": "driver out of date"}]}
    if state not in ("upgrade-required", ""):
        node["transitions"].append({"at": ago(since + 300), "state": "cordon-required", "reason": "admitted"})
        node["transitions"].append({"at": ago(since), "state": state, "reason": "the driver works" if passed else "cordoned"})
    if state == "upgrade-required":
        node["gate"] = SLOT_GATE
    elif state == "drain-required":
        node["gate"] = BUDGET_GATE
        node["requests"] = [{"verb": "evict", "object": "shop/web-0", "code": "RESOURCE_EXHAUSTED",
                             "message": "Cannot evict pod as it would violate the pod's disruption budget.", "at": ago(12)}]
    elif state == "upgrade-failed":
        node["gate"] = FAILED_GATE | {"commands": [f"upgradectl retry {name}"]}
    elif state in IN_PROGRESS[4:6]:
        node["gate"] = gate("DriverPodNotReady", "Driver", detail=f"gpu-operator/driver-{number} is not ready", failsAt=ago(-800))
    return node


def state_of(number, count, share):
    done = int(count * share)
    if number % 97 == 61 and number < done:
        return "upgrade-failed"
    if number < done:
        return "upgrade-done"
    return IN_PROGRESS[number % 7] if number < done + max(2, count // 40) else "upgrade-required"


def settle(document):
    """Fills in all numbers that the operator computes."""
    nodes = document["nodes"]
    states = collections.Counter(node["state"] for node in nodes)
    active = sum(states[state] for state in IN_PROGRESS)
    for pool in document["pools"]:
        pool["totals"] = {"total": len(nodes), "pending": states["upgrade-required"], "inProgress": active,
                          "failed": states["upgrade-failed"], "done": states["upgrade-done"], "notReady": 0, "slots": active,
                          "unavailable": active + states["upgrade-failed"]}
        pool["budgets"] = [{"name": "parallel", "used": active, "limit": max(2, active)},
                           {"name": "unavailable", "used": active + states["upgrade-failed"], "limit": max(3, len(nodes) // 10),
                            "items": [f"{node['name']} (NotReady)" for node in nodes if node["state"] == "upgrade-failed"][:20]},
                           {"name": "failures", "used": states["upgrade-failed"]}]
        for stage in pool.get("rollout", {}).get("stages", []):
            of_stage = collections.Counter(node["state"] for node in nodes if node.get("stage") == stage["name"])
            stage |= {"nodes": sum(of_stage.values()), "done": of_stage["upgrade-done"], "failed": of_stage["upgrade-failed"],
                      "underWay": sum(of_stage[state] for state in IN_PROGRESS), "leftOut": 0}
    return document


def world(count, share=0.5, groups=0):
    """Returns a document in which `share` of the nodes are done."""
    document = {"apiVersion": "driverupgrade/v1", "kind": "Rollout", "at": ago(0), "version": "0.9.0",
                "driver": {"domain": "nvidia.com", "name": "gpu"}, "leader": True, "replica": "gpu-operator-7d9c", "lastPass": ago(2),
                "pools": [{"name": "cluster-policy", "autoUpgrade": True, "paused": False, "findings": [],
                           "rollout": {"revision": "bb88c48c5", "began": BEGAN.isoformat().replace("+00:00", "Z"), "stage": "early",
                                       "stages": [{"name": name} for name in ("canary", "early", "rest")]}}],
                "nodes": [make_node(i, count, state_of(i, count, share), int(count * share)) for i in range(count)]}
    for i, node in enumerate(document["nodes"]):
        if groups:
            node["group"] = f"rack-{i * groups // count + 1}"
    if share >= 0.4:
        document["pools"][0]["rollout"]["stage"] = "rest"
    return settle(document)


class Operator:
    """Serves the page and a document. While `is_down` is set, this server closes every connection."""

    def __init__(self, page):
        self.page, self.is_down, self.is_streaming, self.refusal, self.requests = page, False, True, None, []
        self.body, self.etag, self.streams, self.streams_begun = b"", "", [], 0
        inline = [re.search(rb"<%s>(.*?)</%s>" % (tag, tag), page, re.S)[1] for tag in (b"style", b"script")]
        style, script = ("'sha256-" + base64.b64encode(hashlib.sha256(text).digest()).decode() + "'" for text in inline)
        self.policy = (f"default-src 'none'; style-src {style}; script-src {script}; connect-src 'self'; img-src data:; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        operator = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                operator.serve(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, fragment=""):
        return f"http://127.0.0.1:{self.server.server_port}{PREFIX}{fragment}"

    def show(self, document):
        body = json.dumps(document).encode()
        self.etag, self.body = f'"{hashlib.sha256(body).hexdigest()[:12]}"', body
        for stream in self.streams:
            stream.put(body)

    def go_down(self):
        self.is_down = True
        for stream in self.streams:
            stream.put(None)

    def serve(self, request):
        path = request.path.removeprefix(PREFIX)
        self.requests.append((path, request.headers.get("If-None-Match")))
        if self.is_down:
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
        elif path == "":
            self.reply(request, 200, self.page, "text/html; charset=utf-8", ("Content-Security-Policy", self.policy))
        elif self.refusal:
            self.reply(request, self.refusal, b"refused", "text/plain")
        elif path == "rollout" and request.headers.get("If-None-Match") == self.etag:
            self.reply(request, 304, b"", "application/json", ("ETag", self.etag))
        elif path == "rollout":
            self.reply(request, 200, gzip.compress(self.body, 1), "application/json", ("ETag", self.etag), ("Content-Encoding", "gzip"))
        elif path == "rollout?watch=true" and self.is_streaming:
            self.stream(request)
        else:
            self.reply(request, 404, b"no such page", "text/plain")

    @staticmethod
    def reply(request, status, body, content_type, *headers):
        request.send_response(status)
        for name, value in (("Content-Type", content_type), ("Content-Length", str(len(body))), *headers):
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    def stream(self, request):
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Connection", "close")
        request.end_headers()
        bodies = queue.Queue()
        self.streams.append(bodies)
        self.streams_begun += 1
        try:
            while (body := bodies.get()) is not None:
                request.wfile.write(b"event: rollout\ndata: " + body + b"\n\n")
        except OSError:
            pass  # the browser has left the page
        self.streams.remove(bodies)
        request.close_connection = True


def wait(what, is_so, seconds=15, last=lambda: ""):
    end = time.monotonic() + seconds
    while not is_so():
        expect(f"not within {seconds} s: {what} {last()}", time.monotonic() < end)
        time.sleep(0.05)


class PageBrowser(Browser):
    """A Browser that also collects console messages of the page and violations of the Content-Security-Policy."""

    def __init__(self, chromium, folder):
        self.expects_lost_requests = False
        super().__init__(chromium, folder)
        self.call("Log.enable")

    def message(self):
        message = super().message()
        entry = message.get("params", {}).get("entry", {})
        is_lost_request = self.expects_lost_requests and entry.get("source") == "network"
        if message.get("method") == "Log.entryAdded" and not is_lost_request:
            self.errors.append(entry)
        if message.get("method") == "Runtime.consoleAPICalled":
            self.errors.append(message["params"])
        if message.get("method") == "Page.javascriptDialogOpening":
            self.errors.append(message["params"])
            self.call("Page.handleJavaScriptDialog", accept=True)
        return message

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.until(f"innerWidth === {width} && innerHeight === {height}")
        self.until(f"matchMedia('(prefers-color-scheme: dark)').matches === {str(dark).lower()}")

    def visit(self, operator, document, fragment=""):
        """Opens the page and waits for its stream. Without the stream, data would arrive only with the next poll, 30 s later."""
        operator.is_down = False
        operator.show(document)
        begun = operator.streams_begun
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=operator.url(fragment))
        self.until("window.rolloutPage && rolloutPage.draws > 0")
        self.until("document.getElementById('connection').textContent === 'live'")
        wait(f"a stream of {fragment or 'the page'}", lambda: operator.streams_begun > begun)

    def until(self, expression, seconds=15):
        wait(expression, lambda: self.value(f"Boolean({expression})"), seconds)

    def becomes(self, expression, wanted):
        """Waits for the wanted value. Needed after a key press or a click, whose events may arrive after the response."""
        wait(f"{expression} is {wanted!r}", lambda: self.value(expression) == wanted, last=lambda: self.value(expression))

    def shows(self, name, wanted):
        self.becomes(f"document.getElementById('{name}').textContent", wanted)

    def push(self, operator, document):
        draws = self.value("rolloutPage.draws")
        operator.show(document)
        self.until(f"rolloutPage.draws > {draws}")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            code = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, 0)
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def seen(self, name):
        """Returns the text of an element as a user sees it."""
        return self.value(f"document.getElementById('{name}').innerText")

    def says(self, name, *parts):
        def text():
            return " ".join(self.seen(name).split())
        for part in parts:
            wait(f"{part!r} in {name}:", lambda part=part: part in text(), last=text)


def labels(document):
    """Returns the text with which the accessible name of each node must start."""
    return {f"{node['name']}: {node['state'] or 'unknown'}" for node in document["nodes"]}


def named(browser):
    """Returns the names of the buttons in the accessibility tree, without the age and the reason for a wait."""
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    names = (node["name"].get("value", "") for node in nodes
             if node.get("role", {}).get("value") == "button" and not node["ignored"] and "name" in node)
    return {re.split(r" for \d|, waits", name)[0] for name in names}


def no_errors(browser):
    errors, browser.errors = browser.errors, []
    expect(errors, not errors)


def check_markup(_, operator):
    markup = re.sub(rb"<(style|script)>.*?</\1>", rb"<\1>", operator.page, flags=re.S)
    expect("one style, one script", (markup.count(b"<style"), markup.count(b"<script")) == (1, 1))
    expect("no inline styles or handlers", not re.search(rb"\s(style|on\w+)\s*=", markup))
    expect("nothing from elsewhere", not re.search(rb"(src|href)=\"(?!data:,)", markup))
    expect("no markup from data", not re.search(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", operator.page))
    expect(f"{len(operator.page)} bytes", len(operator.page) < MAX_BYTES)
    print(f"one file of {len(operator.page):,} bytes, {len(gzip.compress(operator.page)):,} compressed")


def check_small(browser, operator):
    document = world(6)
    document["nodes"][1] |= {"name": EVIL, "stage": EVIL, "group": EVIL}
    document["nodes"][1]["gate"] = {"reason": EVIL, "opener": "Administrator", "detail": EVIL, "advice": EVIL, "commands": [EVIL]}
    document["nodes"][2] |= {"state": "drain-required", "gate": BUDGET_GATE}
    document["pools"][0]["findings"] = [{"code": "SelectsNothing", "node": EVIL, "message": EVIL}]
    document["pools"][0]["rollout"]["waitsFor"] = SOAK_GATE
    settle(document)
    browser.size(1280, 900)
    browser.visit(operator, document)
    expect(browser.text("driver"), browser.text("driver") == "nvidia.com/gpu")
    browser.says("facts", "version 0.9.0", "gpu-operator-7d9c leads", "last pass ")
    browser.says("overview", "of 6 nodes done", "The next stage waits: Soak", "12:3")
    browser.says("attention", EVIL)
    missing = labels(document) - named(browser)
    expect(missing, not missing)
    expect("data became an element", browser.value("document.images.length") == 0)
    browser.value("document.querySelector('[data-node^=\"<img\"]').click()")
    browser.says("panel", EVIL)
    expect("data became an element", browser.value("document.images.length") == 0)
    no_errors(browser)
    print("6 nodes: totals, soak, names in the accessibility tree, harmless markup in the data")


def check_waiting(browser, operator):
    halted = world(200)
    halted["pools"][0]["rollout"]["halted"] = HALTED_GATE
    for node in halted["nodes"]:
        if node["state"] == "upgrade-required":
            node["gate"] = HALTED_GATE
    browser.visit(operator, halted)
    browser.says("attention", "The rollout is halted", "upgradectl approve canary", "1 node failed", "gpu-061")
    browser.says("overview", "No estimate: the rollout is halted.")
    expect("the halt is told once", browser.value("document.querySelectorAll('#attention article').length") == 2)

    approval = world(200, share=0.05)
    for node in approval["nodes"]:
        if node["state"] in IN_PROGRESS + ["upgrade-required"]:
            node |= {"state": "upgrade-required", "gate": APPROVAL_GATE}
    approval["pools"][0]["rollout"] |= {"stage": "canary", "waitsFor": APPROVAL_GATE}
    settle(approval)
    browser.push(operator, approval)
    browser.says("attention", "The next stage waits for an approval", "canary@bb88c48c5", "upgradectl approve canary")
    browser.says("overview", "No estimate: the next stage waits for an administrator.")

    failed = world(200)
    failed["nodes"] = [make_node(i, 200, "upgrade-failed") for i in range(200)]
    browser.push(operator, settle(failed))
    browser.says("attention", "200 nodes failed", "196 more: show all")
    browser.says("overview", "0 of 200 nodes done", "200 failed")
    expect("no estimate without nodes to upgrade", "stimate" not in browser.seen("overview"))

    off = world(200)
    off["pools"][0]["autoUpgrade"] = False
    off["lastError"] = "list nodes: 503 Service Unavailable: etcdserver: leader changed"
    browser.push(operator, off)
    browser.says("attention", "autoUpgrade is off", "The last pass failed", "etcdserver: leader changed")
    paused = world(200)
    paused["pools"][0]["paused"] = True
    browser.push(operator, paused)
    browser.says("attention", "The rollout is paused")
    browser.says("overview", "No estimate: the rollout is paused.")

    done = world(200, share=1)
    done["nodes"] = [make_node(i, 200, "upgrade-done") for i in range(200)]
    browser.push(operator, settle(done))
    browser.says("attention", "Nothing waits for an administrator.")
    browser.says("overview", "200 of 200 nodes done")
    # A webhook refuses the patches to these nodes.
    for node in done["nodes"][:3]:
        node["upToDate"] = False
    browser.push(operator, settle(done))
    browser.says("overview", "197 of 200 nodes done", "3 waiting")
    no_errors(browser)
    print("halted, approval, all failed, autoUpgrade off, paused, all done: said first, and once")


def check_nothing(browser, operator):
    empty = world(6) | {"pools": [], "nodes": []}
    browser.visit(operator, empty)
    browser.says("notices", "There is no rollout", "upgrade policy")
    browser.push(operator, world(6) | {"nodes": []})
    browser.says("notices", "There is no rollout", "DaemonSet")
    browser.push(operator, world(6) | {"leader": False})
    browser.says("notices", "gpu-operator-7d9c is not the leader")
    browser.says("facts", "is not the leader")
    bare = world(200)
    del bare["pools"][0]["rollout"]
    browser.push(operator, bare)
    browser.says("overview", "99 of 200 nodes done", "Estimated end: 13:")
    bare = world(6)
    del bare["pools"][0]["rollout"]
    for node in bare["nodes"]:
        for member in ("stage", "gate", "transitions", "since"):
            node.pop(member, None)
    browser.push(operator, bare)
    browser.says("overview", "of 6 nodes done")
    expect("no stages", "Stages" not in browser.seen("overview"))
    no_errors(browser)
    print("no rollout, not the leader, no stages: said")


def check_connection(browser, operator):
    browser.visit(operator, world(6))
    expect(browser.text("connection"), browser.text("connection") == "live")
    expect("no path but those of the page", {path for path, _ in operator.requests} <= {"", "rollout", "rollout?watch=true"})
    browser.expects_lost_requests = True
    operator.go_down()
    browser.until("document.getElementById('connection').textContent.includes('connection lost since')")
    lost = browser.text("connection")
    expect(lost, re.fullmatch(r"connection lost since 12:00:\d\d UTC, trying again", lost))
    browser.says("overview", "of 6 nodes done")
    time.sleep(2.5)
    expect("it still has the first moment", browser.text("connection") == lost)
    operator.is_down, operator.refusal = False, 403
    browser.until("document.getElementById('connection').textContent.includes('driver-upgrade-viewer')")
    operator.refusal, operator.is_streaming = None, False
    operator.show(world(6, share=1))
    browser.until("document.getElementById('connection').textContent === 'updated every 2 s'")
    browser.says("overview", "6 of 6 nodes done")
    operator.requests.clear()
    wait("a request with the ETag", lambda: ("rollout", operator.etag) in operator.requests)
    operator.is_streaming = True
    browser.until("document.getElementById('connection').textContent === 'live'", 20)
    browser.expects_lost_requests = False
    # A browser has at most six connections to a server, and keeps previous pages for its Back button.
    began = time.monotonic()
    for _ in range(7):
        browser.visit(operator, world(6))
    expect(f"seven visits in {time.monotonic() - began:.1f} s", time.monotonic() - began < 15)
    no_errors(browser)
    print("connection: stream, lost, polled with the ETag, and a stream again; none is left behind")


def check_keyboard(browser, operator):
    browser.visit(operator, world(200, groups=10))
    browser.value("document.querySelector('#grid [tabindex=\"0\"]').focus()")
    focused = "document.activeElement.getAttribute('aria-label') || ''"
    node = f"({focused}).split(':')[0]"
    browser.becomes(node, "gpu-000")
    browser.press("ArrowRight")
    browser.becomes(node, "gpu-001")
    browser.press("ArrowDown")
    browser.until(f"{node} > 'gpu-002'")
    browser.press("ArrowUp")
    browser.becomes(node, "gpu-001")
    browser.press("End")
    browser.becomes(node, "gpu-199")
    browser.press("Enter")
    browser.until("document.getElementById('panel').open")
    browser.says("panel", "gpu-199", "upgrade-required", "MaxParallel", "2 of 2", "History", "driver out of date")
    browser.becomes("location.hash", "#node=gpu-199")
    # The node moves to another place on the page while its panel is open.
    moved = world(200, groups=10)
    moved["nodes"][199] |= {"state": "upgrade-failed", "gate": FAILED_GATE, "group": "rack-1"}
    browser.push(operator, settle(moved))
    browser.says("panel", "upgrade-failed", "CrashLoopBackOff", "upgradectl retry NODE")
    browser.press("Escape")
    browser.until("!document.getElementById('panel').open")
    # The close event of a dialog is a separate task, which may run after the browser has responded to the key press.
    browser.until(f"({focused}).startsWith('gpu-199: upgrade-failed')")

    # Opens a node with a blocked drain from the table.
    name = next(node["name"] for node in moved["nodes"] if node["state"] == "drain-required")
    browser.value(f"document.querySelector('#rows [data-node={name}]').focus()")
    browser.press("Enter")
    browser.says("panel", "refused by disruption budget web", "Fails in", "Next try in", "Pod shop/web-0", "the workloads",
                 "kubectl get pdb -n shop", "Failed requests", "RESOURCE_EXHAUSTED")
    browser.click("#panel .command button")
    browser.shows("spoken", "Copied")  # the announcement stays, but the button's text does not
    browser.push(operator, world(200, groups=10))
    browser.press("Escape")
    browser.until("document.activeElement.closest('#rows')")
    no_errors(browser)
    print("keyboard: arrows, Enter, Escape, and the focus returns; copy")


def check_filters(browser, operator):
    document = world(200, groups=10)
    browser.visit(operator, document, "#name=gpu-10")
    browser.shows("count", "10 of 200 nodes")
    browser.value("document.getElementById('clear').click()")
    browser.shows("count", "200 of 200 nodes")
    browser.value("document.getElementById('search').focus()")
    browser.call("Input.insertText", text="gpu-19")
    browser.shows("count", "10 of 200 nodes")
    browser.becomes("location.hash", "#name=gpu-19")
    browser.value("document.getElementById('clear').click()")
    drains = sum(node["state"] == "drain-required" for node in document["nodes"])
    browser.click("[data-state=drain-required]")
    browser.shows("count", f"{drains} of 200 nodes")
    visible = "[...document.querySelectorAll('#grid .squares button')].filter(b => b.offsetWidth).length"
    browser.becomes(visible, drains)
    browser.click("[data-state=drain-required]")
    browser.shows("count", "200 of 200 nodes")
    browser.value("(select => { select.value = 'DisruptionBudget'; select.onchange(); })(document.getElementById('gate'))")
    browser.shows("count", f"{drains} of 200 nodes")
    browser.becomes("location.hash", "#gate=DisruptionBudget")
    expect("rows of the table", browser.value("document.querySelectorAll('#rows tr').length") == drains)
    browser.visit(operator, document, "#state=upgrade-failed&node=gpu-061")
    browser.until("document.getElementById('panel').open")
    browser.says("panel", "gpu-061", "upgradectl retry gpu-061")
    no_errors(browser)
    print("search, filters, and a link with both")


def processor_ms(browser):
    """Returns the CPU time that the page has used for script, style, and layout. Other processes hardly affect this time."""
    metrics = {metric["name"]: metric["value"] for metric in browser.call("Performance.getMetrics")["metrics"]}
    return 1000 * sum(metrics[name + "Duration"] for name in ("Script", "RecalcStyle", "Layout"))


def check_large(browser, operator):
    document = world(5000, groups=120)
    browser.size(1280, 900)
    browser.visit(operator, document)
    browser.call("Performance.enable", timeDomain="threadTicks")
    first, draws = browser.value("rolloutPage.lastDrawMs"), browser.value("rolloutPage.draws")
    expect(f"first picture after {first} ms", draws == 1 and first < FIRST_DRAW_MS)
    expect("one square for each node", browser.value("document.querySelectorAll('#grid .squares button').length") == 5000)
    expect("a page of the table", browser.value("document.querySelectorAll('#rows tr').length") == 50)
    changed, times, processor = copy.deepcopy(document), [], []
    for turn in range(5):
        for i in range(1000):
            number = (turn * 1000 + i * 5 + turn) % 5000
            old = changed["nodes"][number]
            state = "upgrade-done" if old["state"] != "upgrade-done" else IN_PROGRESS[i % 7]
            changed["nodes"][number] = make_node(number, 5000, state) | {"group": old["group"]}
        settle(changed)
        before = processor_ms(browser)
        browser.push(operator, changed)
        processor.append(processor_ms(browser) - before)
        times.append(browser.value("rolloutPage.lastDrawMs"))
    expect(f"updates took {processor} ms", sorted(processor)[2] < UPDATE_MS)
    failing = copy.deepcopy(changed)
    for number in range(0, 5000, 5):
        failing["nodes"][number] = make_node(number, 5000, "upgrade-failed") | {"group": changed["nodes"][number]["group"]}
    browser.push(operator, settle(failing))
    worst = browser.value("rolloutPage.lastDrawMs")
    expect(f"1,000 failures took {worst} ms", worst < 2 * UPDATE_MS)
    shown = browser.value("document.querySelector('#grid .waits').getAttribute('aria-label')")
    expect(shown, "waits for an administrator" in shown)
    missing = labels(failing) - named(browser)
    expect(sorted(missing)[:5], not missing)
    no_errors(browser)
    print(f"5,000 nodes: first picture {first:.0f} ms after the document, 1,000 changes "
          f"{', '.join(f'{took:.0f}' for took in times)} ms (processor time with parsing "
          f"{', '.join(f'{took:.0f}' for took in processor)} ms), 1,000 failures {worst:.0f} ms")


def all_states(count):
    """Returns a document with nodes in every state. Some nodes in each state wait for an administrator."""
    document = world(count, groups=7)
    for i, node in enumerate(document["nodes"]):
        node |= {"state": (["", "upgrade-required", "node-maintenance-required", "post-maintenance-required", "upgrade-done",
                            "upgrade-failed"] + IN_PROGRESS)[i % 13]}
        if i % 26 < 13:
            node["gate"] = gate("SkipLabel", "Administrator", advice="An administrator skips the node.")
    document["pools"][0]["rollout"]["halted"] = HALTED_GATE
    return settle(document)


def check_layout(browser, operator):
    documents = {6: world(6), 200: all_states(200), 5000: world(5000, groups=120)}
    name = documents[6]["nodes"][3]["name"] = "ip-10-0-13-37.eu-central-1.compute.internal." + "x" * 180
    documents[6]["nodes"][3]["gate"] = FAILED_GATE | {"commands": [f"upgradectl retry {name}"]}
    documents[6]["pools"][0]["rollout"]["halted"] = HALTED_GATE
    for count, document in documents.items():
        browser.visit(operator, document)
        for width in (360, 390, 1280, 2560, 3840):
            browser.size(width, 900)
            expect_layout(browser, f"{count} nodes at {width}")
    for width in (390, 1280, 2560):
        browser.size(width, 900)
        for document, node in ((documents[6], 3), (documents[200], 5)):
            browser.visit(operator, document, "#node=" + document["nodes"][node]["name"])
            browser.until("document.getElementById('panel').open")
            expect_layout(browser, f"panel of node {node} at {width}")
    no_errors(browser)
    print("360 to 3840 pixels: nothing is cut off, covered or too small")


def check_colours(browser, operator):
    backs = []
    for dark in (False, True):
        browser.size(1280, 900, dark)
        for count in (40, 200, 1300):
            browser.visit(operator, all_states(count))
            expect_contrast(browser, f"{count} nodes, dark: {dark}")
        browser.visit(operator, all_states(200), "#node=gpu-005")
        expect_contrast(browser, f"a panel, dark: {dark}")
        backs.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    expect(backs, backs == ["rgb(243, 245, 247)", "rgb(13, 17, 23)"])
    browser.size(1280, 900)
    no_errors(browser)
    print("light and dark: texts, letters and squares of all states stand out")


def take_pictures(browser, operator, folder):
    folder.mkdir(parents=True, exist_ok=True)
    middle = world(200, groups=8)
    middle["nodes"][70]["gate"] = gate("SkipLabel", "Administrator", advice="An administrator skips the node.",
                                       commands=["upgradectl unskip gpu-070"])
    middle["pools"][0]["findings"] = [{"code": "SelectsNothing", "message": "order.label example.com/rank matches no node"}]
    large = world(5000, share=0.42, groups=120)
    large["pools"][0]["rollout"]["gangs"] = {"gangs": 31, "units": 24, "interruptions": 31, "byName": 118}
    soak = world(6)
    soak["pools"][0]["rollout"]["waitsFor"] = SOAK_GATE
    halted = world(200, groups=8)
    halted["pools"][0]["rollout"]["halted"] = HALTED_GATE
    pictures = [("rollout-page-200", middle, 1280, 1150, False, ""), ("rollout-page-5000-dark", large, 1600, 1100, True, ""),
                ("rollout-page-6", soak, 1280, 900, False, ""), ("rollout-page-halted-390", halted, 390, 2200, True, ""),
                ("rollout-page-panel", middle, 1280, 900, False, "#node=" + next(
                    node["name"] for node in middle["nodes"] if node["state"] == "drain-required")),
                ("rollout-page-5000-2560", large, 2560, 1440, False, ""), ("rollout-page-5000-4k", large, 3840, 2160, True, "")]
    for name, document, width, height, dark, fragment in pictures:
        browser.size(width, height, dark)
        browser.visit(operator, document, fragment)
        time.sleep(0.6)
        browser.picture(folder / f"{name}.png")
    print(f"pictures in {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("chromium")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIRECTORY", help="only take pictures")
    options = parser.parse_args()
    if shutil.which(options.chromium) is None:
        print("no chromium: skipped")
        return 77
    operator = Operator(options.page.read_bytes())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = PageBrowser(options.chromium, folder)
        try:
            if options.screenshots:
                take_pictures(browser, operator, options.screenshots)
                return 0
            for check in (check_markup, check_small, check_waiting, check_nothing, check_connection, check_keyboard, check_filters, check_layout,
                          check_colours, check_large):
                check(browser, operator)
        finally:
            browser.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
