#!/usr/bin/env python3
"""Clicks through the page of `upgradectl timeline` in headless Chromium, with the DevTools protocol over a pipe.

    timeline_page.py UPGRADECTL CHROMIUM [FOLDER]

Stores pictures of the page in FOLDER, light and dark. Exits with code 77 (skipped) if Chromium is missing.
"""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

NODES = 5000
POLICY = "{autoUpgrade: true, maxParallelUpgrades: 100, maxUnavailable: 100%, drain: {enable: true}}"
# A rollout in stages. It has fewer nodes, because each pass considers all nodes. No node may start during the lunch
# break.
STAGED_NODES = 1000
STAGED = """
autoUpgrade: true
maxParallelUpgrades: SLOTS
maxUnavailable: 100%
drain: {enable: true}
rollout:
  stages: [{name: canary, nodes: 2%, soakSeconds: 1800}, {name: early, nodes: 20%}]
  windows:
  - {start: "08:00", durationSeconds: 14400}
  - {start: "13:00", durationSeconds: 14400}
"""
STAGED_AT = "2026-01-05T10:00:00Z"


def fleet(nodes):
    """Returns nodes with a driver pod each. The last node has the skip label."""
    items = []
    for i in range(nodes):
        name = f"gpu-{i:04}"
        items.append({"kind": "Node", "metadata": {"name": name, "uid": name, "resourceVersion": "1"}})
        items.append({
            "kind": "Pod",
            "metadata": {"namespace": "gpu-operator", "name": f"driver-{i}", "uid": f"d{i}",
                         "labels": {"app": "nvidia-driver-daemonset"},
                         "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "driver",
                                              "uid": "ds", "controller": True}]},
            "spec": {"nodeName": name},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "ready": True}]}})
    items[-2]["metadata"]["labels"] = {"nvidia.com/gpu-driver-upgrade.skip": "true"}
    return {"kind": "List", "items": items}


def write_page(upgradectl, folder, name, nodes, rules, *more):
    dump, policy, page = (folder / f"{name}.{ending}" for ending in ("json", "yaml", "html"))
    dump.write_text(json.dumps(fleet(nodes)))
    policy.write_text(rules)
    with page.open("w") as out:
        subprocess.run([upgradectl, "timeline", "--simulate", "--cluster", dump, "--policy", policy, *more], stdout=out,
                       check=True)
    return page


class Browser:
    """Runs headless Chromium with one page. `errors` contains the page's uncaught exceptions, and `requests` the URLs
    that it requested."""

    def __init__(self, chromium, folder):
        to_browser, self.out = os.pipe()
        self.inward, from_browser = os.pipe()

        def hand_over():  # Chromium reads from file descriptor 3 and writes to 4
            kept = [os.dup(to_browser), os.dup(from_browser)]
            os.dup2(kept[0], 3)
            os.dup2(kept[1], 4)

        self.process = subprocess.Popen(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={folder}/profile", "--window-size=1200,760", "about:blank"],
            preexec_fn=hand_over, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.errors, self.requests = b"", 0, None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.inward, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self.rest += chunk
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"])
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def open(self, page):
        self.call("Page.navigate", url=page.as_uri())
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def text(self, name):
        return self.value(f"document.getElementById('{name}').textContent")

    def centre(self, selector):
        return self.value(f"(b => [b.left + b.width / 2, b.top + b.height / 2])"
                          f"(document.querySelector({selector!r}).getBoundingClientRect())")

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click_at(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click(self, selector):
        self.click_at(*self.centre(selector))

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def end(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(30)


def expect(what, seen):
    assert seen, what


def colour(browser, x, y):
    """Returns the color of a pixel above the bars."""
    return browser.value(f"[...byId('slots').getContext('2d').getImageData(({x}) * devicePixelRatio, "
                         f"{y} * devicePixelRatio, 1, 1).data]")


def look_at_bands(browser, page, pictures):
    """Checks the bands above the bars: the stages, and the times at which no node may start."""
    browser.open(page)
    if browser.value("document.documentElement.classList.contains('dark')"):
        browser.click("#dark")
    stages = browser.value("data.stages")
    expect(stages, [stage[0] for stage in stages] == ["canary", "early", "the rest"])
    lane, slots = 66 + 4 + 12, 66 - 2
    colours = [colour(browser, f"x(data.stages[{i}][2]) - 2", lane) for i in range(3)]
    expect(colours, colours == [[0xf0, 0xd9, 0xa8, 255], [0xcf, 0xe3, 0xc4, 255], [0xd9, 0xcd, 0xea, 255]])
    soak = colour(browser, "(x(data.stages[0][2]) + x(data.stages[1][1])) / 2", lane)
    expect(f"nothing between two stages: {soak}", soak[3] == 0)
    closed = browser.value("data.closed")
    expect(closed, len(closed) == 1 and closed[0][1:] == [2 * 3600 * 1000, 3 * 3600 * 1000])
    grey = colour(browser, "(x(data.closed[0][1]) + x(data.closed[0][2])) / 2", slots)
    expect(f"grey where no node may start: {grey}", grey[3] == 0x50)
    before = colour(browser, "x(data.closed[0][1]) - 20", slots)
    expect(f"slots are taken before that: {before}", before == [0x7f, 0xb2, 0xe5, 255])
    # The bands follow the zoom: the first stage is wider, and the last stage is out of sight.
    browser.value("zoom(0.25, 0)")
    zoomed = colour(browser, "x(data.stages[0][2]) - 2", lane)
    expect(zoomed, zoomed == [0xf0, 0xd9, 0xa8, 255])
    expect("the last stage is out of sight", browser.value("x(data.stages[2][2]) > width()"))
    browser.value("zoom(4, 0)")
    browser.value("document.getElementById('height').value = '4'; choose()")
    if pictures:
        browser.picture(pictures / "timeline-light.png")
    browser.click("#dark")
    dark = colour(browser, "x(data.stages[0][2]) - 2", lane)
    expect(dark, dark == [0x6b, 0x5a, 0x30, 255])
    if pictures:
        browser.value("document.getElementById('height').value = '16'; choose(); zoom(0.25, 0)")
        top = browser.value("document.getElementById('scroll').getBoundingClientRect().top")
        browser.move(330, top + 200)
        browser.picture(pictures / "timeline-dark.png")
    expect(browser.errors, not browser.errors)


def click_through(browser, page):
    browser.open(page)
    expect(browser.text("title"), f"{NODES} nodes" in browser.text("title"))
    expect(browser.text("count"), browser.text("count") == f"{NODES} of {NODES} nodes")
    top = browser.value("document.getElementById('scroll').getBoundingClientRect().top")

    # A node outside the first hundred nodes shows its gate on hover, because it waits for a slot when the rollout
    # starts.
    browser.value("document.getElementById('scroll').scrollTop = 16 * 4900")
    browser.move(160, top + 24)
    tip = browser.text("tip")
    expect(tip, tip.startswith("gpu-") and "upgrade-required" in tip and "MaxParallel" in tip)
    browser.move(160, 5)

    # The text is typed, not set, because the page must react to events.
    browser.click("#search")
    browser.call("Input.insertText", text="gpu-012")
    expect(browser.text("count"), browser.text("count") == f"10 of {NODES} nodes")
    browser.click_at(400, top + 8)
    expect(browser.text("pinned"), browser.text("pinned").startswith("gpu-0120\n"))
    expect(browser.text("pinned"), "upgrade-done for" in browser.text("pinned"))
    browser.value("search.value = ''; search.oninput()")

    # Filters by state. All nodes are done except the skipped node, and a second click removes the filter.
    browser.click("[data-state=upgrade-done]")
    expect(browser.text("count"), browser.text("count") == f"{NODES - 1} of {NODES} nodes")
    browser.click("[data-state=upgrade-required]")
    expect(browser.text("count"), browser.text("count") == f"1 of {NODES} nodes")
    browser.click_at(400, top + 8)
    expect(browser.text("pinned"), browser.text("pinned").startswith(f"gpu-{NODES - 1}\n"))
    browser.click("[data-state=upgrade-required]")
    expect(browser.text("count"), browser.text("count") == f"{NODES} of {NODES} nodes")
    expect("a state in which no node ended cannot be chosen",
           browser.value("document.querySelector('[data-state=pod-restart-required]').disabled"))

    # Only visible rows are drawn, so the canvas is not taller than the window, and drawing takes a few milliseconds.
    expect("the canvas is as tall as the window", browser.value("document.getElementById('rows').clientHeight < innerHeight"))
    took = browser.value("(() => { const b = performance.now(); for (let i = 0; i < 20; ++i) draw(); "
                         "return (performance.now() - b) / 20; })()")
    expect(f"{took} ms a picture", took < 100)
    expect("it begins light", browser.value("!document.documentElement.classList.contains('dark')"))
    browser.click("#dark")
    expect("it is dark", browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)")
    expect(browser.errors, not browser.errors)
    expect(browser.requests, all(url.startswith(("file:", "about:")) for url in browser.requests))
    print(f"{NODES} nodes, {page.stat().st_size >> 10} KiB, {took:.1f} ms a picture")


def main():
    upgradectl, chromium = sys.argv[1:3]
    pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    if shutil.which(chromium) is None:
        print("no chromium: skipped")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = write_page(upgradectl, pathlib.Path(folder), "timeline", NODES, POLICY)
        nodes = NODES if pictures else STAGED_NODES
        staged = write_page(upgradectl, pathlib.Path(folder), "staged", nodes,
                            STAGED.replace("SLOTS", str(nodes // 50)), "--at", STAGED_AT)
        browser = Browser(chromium, folder)
        try:
            click_through(browser, page)
            look_at_bands(browser, staged, pictures)
        finally:
            browser.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
