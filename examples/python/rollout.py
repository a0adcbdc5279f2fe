#!/usr/bin/env python3
"""Runs a whole rollout through the C interface: the engine returns the next requests, and this program sends them.

    rollout.py --library libdriverupgrade_c.so.1

Cluster stands for Kubernetes: a DaemonSet with a new driver, nodes whose old driver pods wait to be replaced, and a
training job on one of them. In an operator, list() and send() are requests to the API server. Needs only Python and
libdriverupgrade_c.so; docs/c-api.md describes the documents.
"""
import argparse
import ctypes
import json
import re
import urllib.parse

from whatif import Buf, Str

NODES, DRIVER_PODS, DAEMON_SETS, CONTROLLER_REVISIONS = range(4)  # DU_NODES and the kinds after it
NAMESPACE = "gpu-operator"
OPTIONS = {"identity": {"domain": "nvidia.com", "driver": "gpu"}, "namespace": NAMESPACE, "driverLabels": "app=driver"}
POLICY = {"autoUpgrade": True, "maxParallelUpgrades": 1, "maxUnavailable": "50%", "drain": {"enable": True}}
READY = {"type": "Ready", "status": "True"}


def owned_by(kind, name):
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}


class Engine:
    def __init__(self, path, options):
        self.c = ctypes.CDLL(path)
        self.c.du_free.argtypes = [ctypes.c_void_p]
        self.c.du_engine_free.argtypes = [ctypes.c_void_p]
        self.engine = ctypes.c_void_p()
        self._checked(self.c.du_engine_new, self._argument(options), ctypes.byref(self.engine))

    def close(self):
        self.c.du_engine_free(self.engine)
        self.engine = None

    def call(self, function, *arguments):
        """Returns the result. Raises ValueError with the library's message."""
        return self._checked(getattr(self.c, "du_engine_" + function), self.engine, *map(self._argument, arguments))

    @staticmethod
    def _argument(value):
        if isinstance(value, ctypes._SimpleCData):
            return value
        text = value if isinstance(value, str) else json.dumps(value)
        return Str(text.encode(), len(text.encode()))

    def _checked(self, function, *arguments):
        out = Buf()
        code = function(*arguments, ctypes.byref(out))
        text = ctypes.string_at(out.data, out.size) if out.data else b""
        self.c.du_free(out.data)
        if code != 0:
            raise ValueError(text.decode() or f"code {code}")
        return json.loads(text)


class Cluster:
    """The part of Kubernetes that a rollout uses. Each object has the cluster's revision at its last change."""

    def __init__(self, nodes):
        self.revision = 1
        self.owner = [owned_by("DaemonSet", "driver")]
        self.nodes = {n: {"apiVersion": "v1", "kind": "Node", "metadata": {"name": n, "uid": "uid-" + n, "labels": {}},
                          "spec": {}, "status": {"conditions": [READY]}} for n in nodes}
        self.pods = {}
        self.daemon_set = {
            "metadata": {"namespace": NAMESPACE, "name": "driver", "uid": "driver", "labels": {"app": "driver"}},
            "spec": {"selector": {"matchLabels": {"app": "driver"}}, "updateStrategy": {"type": "OnDelete"}},
            "status": {"desiredNumberScheduled": len(nodes)}}
        self.revisions = [
            {"metadata": {"namespace": NAMESPACE, "name": "driver-" + h, "uid": h, "ownerReferences": self.owner,
                          "labels": {"app": "driver", "controller-revision-hash": h}}, "revision": number}
            for number, h in enumerate(("old", "new"), 1)]
        for node in nodes:
            self._start_driver(node, "old")
        self._start("training", nodes[0], {"app": "training"}, [owned_by("ReplicaSet", "training")])

    def _start_driver(self, node, revision):
        labels = {"app": "driver", "controller-revision-hash": revision}
        self._start(f"driver-{node}-{revision}", node, labels, self.owner)

    def _start(self, name, node, labels, owner):
        self.revision += 1
        self.pods[name] = {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": NAMESPACE, "name": name, "uid": f"{name}-{self.revision}", "labels": labels,
                         "ownerReferences": owner},
            "spec": {"nodeName": node, "containers": [{"name": "one"}]},
            "status": {"phase": "Running", "conditions": [READY],
                       "containerStatuses": [{"name": "one", "ready": True, "restartCount": 0}]}}

    def driver_pods(self):
        return [pod for pod in self.pods.values() if pod["metadata"]["labels"]["app"] == "driver"]

    def list(self, kind, items):
        for item in items:
            item["metadata"].setdefault("resourceVersion", str(self.revision))
        return {"kind": kind + "List", "metadata": {"resourceVersion": str(self.revision)}, "items": list(items)}

    def send(self, request):
        """Returns the HTTP status and the body of the response."""
        target = urllib.parse.urlsplit(request["target"])
        node = re.fullmatch(r"/api/v1/nodes/([^/]+)", target.path)
        pod = re.fullmatch(r"/api/v1/namespaces/[^/]+/pods/([^/]+)(/eviction)?", target.path)
        if node and request["verb"] == "PATCH":
            return 200, self._patch(self.nodes[node[1]], json.loads(request["body"]))
        if pod and request["verb"] == ("POST" if pod[2] else "DELETE") and pod[1] in self.pods:
            gone = self.pods.pop(pod[1])
            if gone["metadata"]["ownerReferences"] == self.owner:
                self._start_driver(gone["spec"]["nodeName"], "new")  # in a real cluster, the DaemonSet controller does this
            return 200, {"kind": "Status", "status": "Success"} if pod[2] else gone
        return 404, {"kind": "Status", "reason": "NotFound", "code": 404}

    def _patch(self, node, patch):
        def merge(into, change):
            for key, value in change.items():
                if value is None:
                    into.pop(key, None)
                elif isinstance(value, dict):
                    merge(into.setdefault(key, {}), value)
                else:
                    into[key] = value

        self.revision += 1
        merge(node, patch)
        node["metadata"]["resourceVersion"] = str(self.revision)
        return node


def one_pass(engine, cluster, now):
    """Passes all objects to the engine, and sends its requests. Returns true if the engine had any."""
    ms = ctypes.c_int64(now)
    for kind, objects in ((NODES, cluster.list("Node", cluster.nodes.values())),
                          (DRIVER_PODS, cluster.list("Pod", cluster.driver_pods())),
                          (DAEMON_SETS, cluster.list("DaemonSet", [cluster.daemon_set])),
                          (CONTROLLER_REVISIONS, cluster.list("ControllerRevision", cluster.revisions))):
        engine.call("put", ctypes.c_int32(kind), objects)
    found = engine.call("apply", "", POLICY, ms)
    for node in found["podInterest"]:
        there = [pod for pod in cluster.pods.values() if pod["spec"]["nodeName"] == node]
        engine.call("put_pods", node, cluster.list("Pod", there), "")
    if found["podInterest"]:
        found["work"] += engine.call("apply", "", POLICY, ms)["work"]
    for node in found["work"]:
        while request := engine.call("next", node, ms):
            status, body = cluster.send(request)
            print(f"{request['verb']} {request['target']} -> {status}")
            engine.call("answer", node, ctypes.c_int32(status), ctypes.c_int32(0), body, ms)
    for outcome in engine.call("settle", ms)["outcomes"]:
        if outcome["code"] != 0:
            print(f"{outcome['node']}: {outcome['message']}")
    return bool(found["work"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libdriverupgrade_c.so.1")
    engine = Engine(parser.parse_args().library, OPTIONS)
    cluster = Cluster(["node-1", "node-2", "node-3"])
    now = 1_700_000_000_000  # the engine does not read a clock; an operator passes its own time
    while one_pass(engine, cluster, now):
        now += 2000  # an operator waits until something changes, or until "wakeAt"
    totals = engine.call("everything")["totals"]
    engine.close()
    drivers = {pod["metadata"]["labels"]["controller-revision-hash"] for pod in cluster.driver_pods()}
    cordoned = [name for name, node in cluster.nodes.items() if node["spec"].get("unschedulable")]
    print(f"{totals['done']} of {totals['total']} nodes done, drivers: {', '.join(drivers)}, cordoned: {len(cordoned)}")


if __name__ == "__main__":
    main()
