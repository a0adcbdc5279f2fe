#!/usr/bin/env python3
"""Checks that simulate, plan and preflight name the same causes on every dump of the field cases.

  agree.py BIN        BIN: the directory with upgradectl

The commands in tests/field/*/case.txt provide the dumps, policies and options. If simulate reports a cause that keeps nodes from
finishing, preflight must report it as an obstacle. If the cause holds nodes from the start, plan must report it as their gate.
If preflight reports one of the errors in BLOCKS, the simulated rollout must not finish.
"""
import json
import pathlib
import shlex
import subprocess
import sys

CASES = pathlib.Path(__file__).resolve().parent
VERBS = {"plan", "preflight", "simulate"}
# Options that all three verbs accept.
SHARED = ["--cluster", "--policy", "--driver", "--domain", "--namespace", "--driver-labels", "--defaults", "--validation-selector",
          "--at", "--ledger-name"]

# The preflight codes that name the same cause as a gate of simulate, by gate.
CODES = {
    "Cordoned": {"NodeCordoned"},
    "DevicesUnfit": {"DevicesUnfit"},
    "DisruptionBudget": {"AllAtOnce", "BudgetAllowsNone", "BudgetNeverAllows", "UnreadyBehindBudget"},
    "Frozen": {"AutoUpgradeOff"},
    "Group": {"GangTooLarge", "GroupTooLarge", "NothingBegins"},
    "DriverPodMissing": {"DriverPodUnscheduled", "NoDriverPod"},
    "DriverPodNotReady": {"DeadlineTooShort", "DriverPodNotReady"},
    "MaxUnavailable": {"DriverPodUnscheduled", "GangTooLarge", "GroupTooLarge", "NodeCordoned", "NodeLeaves", "NodeNotReady", "NodeTainted", "NothingBegins"},
    "NoWindow": {"NothingBegins"},
    "NodeLeaves": {"NodeLeaves"},
    "NodeNotReady": {"NodeDegraded", "NodeNotReady"},
    "NodeTainted": {"NodeTainted"},
    "Paused": {"Paused"},
    "PodsTerminating": {"DoesNotEnd", "LongGrace"},
    "SeveralBudgets": {"SeveralBudgets"},
    "SkipLabel": {"NodeSkipped"},
    "Stage": {"NothingBegins", "SelectsNothing", "StageWithoutNodes"},
    "UndeletablePods": {"BarePod", "EmptyDir"},
}
# Gates at which a node waits for other nodes, or for an administrator's decision.
FOLLOWS = {"Approval", "Halted", "Ledger", "MaxFailures", "MaxParallel", "Soak"}
# Gates that hold a node from the start. A simulation starts with the old driver and without marks, so only nodes that
# have not started can be compared.
HOLDS = {"Cordoned", "Frozen", "NoWindow", "NodeLeaves", "NodeNotReady", "NodeTainted", "Paused", "SkipLabel"}
BLOCKS = {"BarePod", "BudgetNeverAllows", "EmptyDir", "GangTooLarge", "GroupTooLarge", "NothingBegins", "SeveralBudgets", "StageWithoutNodes"}


def situations():
    """Returns each case with the shared options of its commands, without duplicates."""
    found = []
    for path in sorted(CASES.glob("*/case.txt")):
        for line in path.read_text().splitlines():
            words = shlex.split(line[2:]) if line.startswith("$ upgradectl ") else []
            if len(words) < 2 or "--policy" not in words or "--cluster" not in words:
                continue
            options = ["--no-gpu-pods"] if "--no-gpu-pods" in words else []
            for option in SHARED:
                if option in words:
                    options += [option, words[words.index(option) + 1]]
            if (path.parent, options) not in found:
                found.append((path.parent, options))
    return found


def ask(programs, verb, case, options):
    command = [str(pathlib.Path(programs).resolve() / "upgradectl"), verb, "-o", "json", *options]
    done = subprocess.run(command, cwd=case, capture_output=True, text=True, timeout=120, check=False)
    return json.loads(done.stdout) if done.stdout.strip() else None


def differences(simulated, plan, obstacles):
    codes = {obstacle["code"] for obstacle in obstacles}
    gates = {node["name"]: node["gate"]["reason"] for node in plan["nodes"] if node["gate"] and node["next"] == "upgrade-required"}
    problems = []
    for obstacle in simulated["obstacles"]:
        gate, node = obstacle["gate"], obstacle["example"]
        if gate in FOLLOWS:
            continue
        if gate not in CODES:
            problems.append(f"simulate names {gate}, which this script does not know")
        elif not CODES[gate] & codes:
            problems.append(f"simulate names {gate} ({node}), and preflight only {sorted(codes)}")
        if gate in HOLDS and gates.get(node, gate) != gate:
            problems.append(f"simulate names {gate} for {node}, and plan {gates[node]}")
    errors = {obstacle["code"] for obstacle in obstacles if obstacle["severity"] == "error"} & BLOCKS
    if errors and simulated["finishes"]:
        problems.append(f"preflight names {sorted(errors)}, and the simulated rollout finishes")
    return problems


def main():
    compared, failed = 0, False
    for case, options in situations():
        answers = {verb: ask(sys.argv[1], verb, case, options) for verb in VERBS}
        if any(answer is None for answer in answers.values()):
            continue  # all verbs refuse the policy
        simulated = answers["simulate"][0] if isinstance(answers["simulate"], list) else answers["simulate"]
        compared += 1
        for problem in differences(simulated, answers["plan"], answers["preflight"]):
            print(f"{case.name} {shlex.join(options)}\n  {problem}")
            failed = True
    print(f"{compared} situations compared")
    sys.exit(failed or compared < 20)


main()
