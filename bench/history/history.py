#!/usr/bin/env python3
"""Maintains counts.csv: counts for each release that do not depend on the load of the machine.

    history.py           fails if a count is more than a tenth above the last column
    history.py --take    writes the counts into the last column, after a change that lowers or deliberately raises them
    history.py --release NAME   writes the counts into a new column

Allocations and judgements come from micro_bench, and requests from a rollout of 1,000 nodes in virtual time
(scale_bench). Instructions are the difference between two runs of micro_bench under valgrind, so that only the
operation itself counts.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys

COUNTS = pathlib.Path(__file__).resolve().parent / "counts.csv"
ROOT = COUNTS.parents[2]
RISE = 1.1

# Maps each operation of micro_bench to its number of additional runs under valgrind, after the first execution.
OPERATIONS = {
    "Step/1000": 2,
    "JudgeOneOf/1000": 20,
    "ChangePaused/5000": 2,
    "Snapshot/100": 4,
    "ParseNodes/500": 2,
    "ParsePods/500": 2,
    "ParsePodOfAServer": 20,
    "FormatPatch": 200,
    "CacheApply/5000": 200,
}
ROLLOUT = ("judgements per node", "API calls per node", "passes")


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"history: {' '.join(map(str, command))}: exit {result.returncode}\n{result.stderr[-2000:]}")
    return result


def operation_command(folder, operation, times):
    return [folder / "micro_bench", "--times", str(times), f"--benchmark_filter=^{operation}(/iterations:.*)?$"]


def count_by_itself(folder, operation):
    """Returns the counts of micro_bench: allocations, and judgements if the operation has any."""
    report = run(operation_command(folder, operation, 4) + ["--benchmark_format=json"])
    (benchmark,) = json.loads(report.stdout)["benchmarks"]
    return {f"{operation} {kind}": benchmark[kind] for kind in ("allocations", "judgements") if kind in benchmark}


def instructions(folder, operation, times):
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    found = re.search(r"Collected : (\d+)", run(valgrind + operation_command(folder, operation, times)).stderr)
    return int(found.group(1))


def count_instructions(folder, operation, more):
    few, many = (instructions(folder, operation, times) for times in (2, 2 + more))
    return {f"{operation} instructions": (many - few) / more}


def count_rollout(folder):
    report = run([folder / "scale_bench", "rollout", "--nodes", "1000", "--parallel", "100"]).stdout
    return {f"rollout of 1000 nodes: {text}": float(re.search(rf"{text} +([\d.]+)", report).group(1)) for text in ROLLOUT}


def count_all(folder):
    counts = count_rollout(folder)
    for operation, more in OPERATIONS.items():
        counts |= count_by_itself(folder, operation) | count_instructions(folder, operation, more)
    return {name: float(f"{value:.4g}") for name, value in counts.items()}


def read_history():
    if not COUNTS.exists():
        return ["count"], {}
    header, *rows = list(csv.reader(COUNTS.open()))
    return header, {row[0]: row[1:] for row in rows}


def write_history(header, history):
    with COUNTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([name, *values] for name, values in sorted(history.items()))


def take(header, history, counts, release):
    """Writes the counts into the last column, or into a new column for `release`."""
    if release:
        header.append(release)
    columns = len(header) - 1
    for name, value in counts.items():
        values = (history.get(name, []) + [""] * columns)[:columns]
        history[name] = [*values[:-1], f"{value:g}"]
    write_history(header, history)


def compare(history, counts):
    """Returns one line for each error."""
    wrong = [f"{name} is no longer counted" for name in history if name not in counts]
    for name, value in counts.items():
        before = history.get(name, [""])[-1]
        if before == "":
            wrong.append(f"{name}: {value:g}, and nothing to compare it with")
        elif value > float(before) * RISE:
            wrong.append(f"{name}: {value:g}, {before} before")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="the folder of the programs")
    parser.add_argument("--take", action="store_true")
    parser.add_argument("--release", metavar="NAME")
    arguments = parser.parse_args()
    header, history = read_history()
    counts = count_all(arguments.bin.resolve())
    if arguments.take or arguments.release:
        return take(header, history, counts, arguments.release)
    wrong = compare(history, counts)
    print("\n".join(wrong) or f"{len(counts)} counts, none more than a tenth above {header[-1]}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
