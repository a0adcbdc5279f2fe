#!/usr/bin/env python3
"""Runs the commands of a field case and compares their output with the case's expectations.

  run.py BIN CASE     runs tests/field/CASE/case.txt with the programs of the directory BIN
  run.py --log        checks that every case has a row in README.md, and every row a case

tests/field/README.md describes the format of case.txt.
"""
import pathlib
import re
import shlex
import subprocess
import sys

CASES = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 120


def squeeze(text):
    """Returns the text without the padding between table columns."""
    return re.sub(r"\s+", " ", text).strip()


def read_steps(path):
    """Returns the commands of a case, each with its expectations."""
    steps = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark, _, rest = line.partition(" ")
        if not line.strip() or mark == "#":
            continue
        if mark == "$":
            steps.append({"command": rest, "exit": 0, "lines": [], "absent": []})
        elif not steps or mark not in (">", "!", "exit"):
            sys.exit(f"{path}:{number}: not a command, or an expectation without a command: {line}")
        elif mark == "exit":
            steps[-1]["exit"] = int(rest)
        else:
            steps[-1]["lines" if mark == ">" else "absent"].append(squeeze(rest))
    if not steps:
        sys.exit(f"{path}: no command")
    return steps


def differences(step, status, output):
    """Returns the problems with the exit status and the output of a command; an empty list if both are as expected."""
    found = [squeeze(line) for line in output.splitlines()]
    problems = [] if status == step["exit"] else [f"exit status {status}, expected {step['exit']}"]
    position = 0
    for expected in step["lines"]:
        at = next((i for i in range(position, len(found)) if expected in found[i]), None)
        if at is None:
            problems.append(f"missing, or not in this order: {expected}")
        else:
            position = at + 1
    return problems + [f"must not be printed: {text}" for text in step["absent"] if any(text in line for line in found)]


def run_case(programs, case):
    failed = False
    for step in read_steps(CASES / case / "case.txt"):
        program, *arguments = shlex.split(step["command"])
        result = subprocess.run([programs / program, *arguments], cwd=CASES / case, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_SECONDS)
        problems = differences(step, result.returncode, result.stdout)
        if problems:
            failed = True
            print(f"$ {step['command']}\n{result.stdout}", *(f"-- {problem}" for problem in problems), sep="\n")
    return failed


def check_log():
    """Compares the rows of the log in README.md with the directories."""
    log = (CASES / "README.md").read_text().partition("## Log")[2]
    logged = set(re.findall(r"^\| `([^`]+)` \|", log, re.MULTILINE))
    present = {path.parent.name for path in CASES.glob("*/case.txt")}
    for name in sorted(present - logged):
        print(f"README.md has no row for the case {name}")
    for name in sorted(logged - present):
        print(f"README.md has a row for {name}, which does not exist")
    return logged != present


def main():
    if sys.argv[1:] == ["--log"]:
        sys.exit(check_log())
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(run_case(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))


main()
