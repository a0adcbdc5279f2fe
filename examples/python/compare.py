#!/usr/bin/env python3
"""Shows what would happen in this cluster with another policy. Sends nothing.

    kubectl get nodes,pods,daemonsets,controllerrevisions,poddisruptionbudgets,events -A -o json > cluster.json
    compare.py --cluster cluster.json now.yaml next.yaml

For each policy, it prints the nodes that would start next, the reasons why other nodes wait, and the duration of simulated rollouts. It
also prints what blocks these rollouts, and the obstacles to a real rollout. In a notebook, compare(Library(), request, cluster, {"now":
..., "next": ...}) returns the same data as a dictionary, ready for pandas.DataFrame. Needs only Python and libdriverupgrade_c.so.
"""
import collections
import pathlib

from whatif import Library, parser_of, request_of


def summary(library, request, cluster, policy):
    plan = library.plan({**request, "policy": policy}, cluster)
    waits = collections.Counter(node["gate"]["reason"] for node in plan["nodes"] if node["gate"])
    return {
        "starts": [node["name"] for node in plan["nodes"] if "cordon-required" in node["path"]],
        "waits": dict(sorted(waits.items())),
        "obstacles": library.preflight({**request, "policy": policy}, cluster),
    }


def simulations(library, request, cluster, policies, seeds=5):
    """Returns the simulated rollouts of each policy, by the policy's name. The same seeds produce the same rollouts."""
    compared = [{"name": name, "policy": policy} for name, policy in policies.items()]
    return {row["policy"]: row for row in library.simulate({**request, "policies": compared, "seeds": seeds}, cluster)}


def compare(library, request, cluster, policies, seeds=5):
    """Returns a summary for each policy, by the policy's name. Raises ValueError with the library's message."""
    simulated = simulations(library, request, cluster, policies, seeds)
    return {
        name: {**summary(library, request, cluster, policy), "simulated": simulated[name]}
        for name, policy in policies.items()
    }


def rollout_of(simulated):
    """Returns one line about the simulated rollouts of a policy."""
    nodes = f"{simulated['done']} of {simulated['nodes']} nodes done"
    if not simulated["finishes"]:
        return f"does not finish, {nodes}"
    return (
        f"{nodes} in {simulated['makespanSecondsMedian']} s (90 % of the simulations: {simulated['makespanSeconds90']} s), "
        f"at most {simulated['unavailablePeak']} unavailable, {simulated['evictions']} evictions"
    )


def show(name, found):
    print(f"{name}: starts {', '.join(found['starts']) or 'no node'}")
    for reason, nodes in found["waits"].items():
        print(f"  {nodes} wait for {reason}")
    print(f"  simulated: {rollout_of(found['simulated'])}")
    for blocked in found["simulated"]["obstacles"]:
        cause = f"{blocked['gate']} {blocked['subject']}".strip()
        print(f"  simulated: not done because of {cause}: {blocked['nodes']} nodes, such as {blocked['example']}")
    for obstacle in found["obstacles"]:
        print(f"  {obstacle['severity']} {obstacle['code']}: {', '.join(obstacle['objects'])}")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="number of simulated rollouts of each policy")
    parser.add_argument("policies", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    policies = {path.name: path.read_text() for path in arguments.policies}
    cluster = arguments.cluster.read_bytes()
    found = compare(Library(arguments.library), request_of(arguments), cluster, policies, arguments.seeds)
    for name in policies:
        show(name, found[name])


if __name__ == "__main__":
    main()
