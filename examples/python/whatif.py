#!/usr/bin/env python3
"""Shows the next steps of a driver's upgrade in this cluster, and the reasons why nodes wait. Sends nothing.

    kubectl get nodes,pods,daemonsets,controllerrevisions -A -o json > cluster.json
    whatif.py --policy policy.yaml --cluster cluster.json

In a notebook: plan = Library().plan(request, cluster). Needs only Python and libdriverupgrade_c.so; docs/c-api.md describes the documents.
"""
import argparse
import ctypes
import datetime
import json
import pathlib


class Str(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Buf(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Library:
    def __init__(self, path="libdriverupgrade_c.so.1"):
        self.c = ctypes.CDLL(path)
        self.c.du_free.argtypes = [ctypes.c_void_p]

    def call(self, function, *documents):
        """Returns the bytes of the result. Raises ValueError with the library's message."""
        out = Buf()
        code = getattr(self.c, function)(*(Str(document, len(document)) for document in documents), ctypes.byref(out))
        text = ctypes.string_at(out.data, out.size) if out.data else b""
        self.c.du_free(out.data)
        if code != 0:
            raise ValueError(text.decode() or f"{function}: code {code}")
        return text

    def ask(self, function, request, cluster):
        return json.loads(self.call(function, json.dumps(request).encode(), cluster))

    def plan(self, request, cluster):
        return self.ask("du_plan", request, cluster)

    def simulate(self, request, cluster):
        return self.ask("du_simulate", request, cluster)

    def preflight(self, request, cluster):
        return self.ask("du_preflight", request, cluster)


def parser_of(description):
    """Returns the parser for the options that the programs share, which do not include the policy."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cluster", type=pathlib.Path, required=True)
    parser.add_argument("--domain", default="nvidia.com")
    parser.add_argument("--driver", default="gpu")
    parser.add_argument("--namespace", default="gpu-operator")
    parser.add_argument("--driver-labels", default="app=driver")
    parser.add_argument("--at", default=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
    parser.add_argument("--library", default="libdriverupgrade_c.so.1")
    return parser


def request_of(arguments):
    return {
        "identity": {"domain": arguments.domain, "driver": arguments.driver},
        "namespace": arguments.namespace,
        "driverLabels": arguments.driver_labels,
        "at": arguments.at,
    }


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--policy", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    request = {**request_of(arguments), "policy": arguments.policy.read_text()}
    plan = Library(arguments.library).plan(request, arguments.cluster.read_bytes())
    for node in plan["nodes"]:
        if node["path"]:
            print(f"{node['name']}: {node['state']} -> {node['next']}")
        if node["gate"]:
            print(f"{node['name']}: waits in {node['next']} for {node['gate']['reason']}: {node['gate']['detail']}")
    print("{total} nodes: {pending} pending, {inProgress} in progress, {failed} failed, {done} done".format(**plan["totals"]))


if __name__ == "__main__":
    main()
