#!/usr/bin/env python3
"""What would change in this cluster with another policy? Nothing is sent anywhere.

    kubectl get nodes,pods,daemonsets,controllerrevisions -A -o json > cluster.json
    compare.py --cluster cluster.json now.yaml next.yaml

It prints, for each policy, the nodes that would start next, what the others wait for, and fields without effect. In a notebook:
compare(Library(), request, cluster, {"now": ..., "next": ...}) returns the same as a dictionary, ready for pandas.DataFrame.
`upgradectl simulate` compares whole rollouts. Needs Python and libdriverupgrade_c.so alone.
"""
import collections
import json
import pathlib

from whatif import Library, parser_of, request_of


def summary(library, request, cluster, policy):
    plan = library.plan({**request, "policy": policy}, cluster)
    waits = collections.Counter(node["gate"]["reason"] for node in plan["nodes"] if node["gate"])
    return {
        "starts": [node["name"] for node in plan["nodes"] if "cordon-required" in node["path"]],
        "waits": dict(sorted(waits.items())),
        "warnings": json.loads(library.call("du_policy_warnings", policy.encode())),
    }


def compare(library, request, cluster, policies):
    """A summary for each policy, by its name; ValueError with the library's message."""
    return {name: summary(library, request, cluster, policy) for name, policy in policies.items()}


def show(name, found):
    print(f"{name}: starts {', '.join(found['starts']) or 'no node'}")
    for reason, nodes in found["waits"].items():
        print(f"  {nodes} wait for {reason}")
    for warning in found["warnings"]:
        print(f"  warning: {warning}")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("policies", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    policies = {path.name: path.read_text() for path in arguments.policies}
    found = compare(Library(arguments.library), request_of(arguments), arguments.cluster.read_bytes(), policies)
    for name in policies:
        show(name, found[name])


if __name__ == "__main__":
    main()
