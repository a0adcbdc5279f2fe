#!/usr/bin/env python3
"""Runs the tests with planted defects; see tests/planted/README.md.

  run.py off      passes if the scenarios, the tests of the C interface and 100 seeds pass while no defect is active
  run.py check    passes if, for each defect, the quickest test that found the defect still finds it, and if most of the
                  seeds in found.json still find their defects (`check_seeds`)
  run.py renew    tries the seeds of the simulation again, and replaces those that no longer find their defect
  run.py fill     runs every suite with every defect, unless found.json has the result, and stores it there
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import sys
import threading
import time

import suites
from defects import read_all

FOUND = pathlib.Path(__file__).resolve().parent / "found.json"
SEEDS_OFF = 100
TRIES = 3
# Minimum share of seeds that must still find their defects, for each invariant and for all seeds together. A seed
# produces a different run as soon as the engine sends one more request, so some seeds no longer find their defect. A
# broken checker finds no defects at all.
STILL_FIND = 0.5
STILL_FIND_IN_ALL = 0.8


def read_found():
    return json.loads(FOUND.read_text()) if FOUND.exists() else {}


def write_found(found, names):
    lines = [f"  {json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in names if found.get(name)]
    FOUND.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def in_parallel(jobs, call, items):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(call, items))


def off(arguments):
    failed = 0
    for suite in ("scenarios", "c", "simulation"):
        result = suites.find(arguments.bin, suite, "", seeds=SEEDS_OFF)
        failed += result.test != ""
        print(f"{suite}: {result.test or 'passed'}, {result.seconds:.0f} s")
    return 1 if failed else 0


def quickest(answers):
    """Returns the suite and the test that find a defect first, or None if no suite finds it."""
    finders = [(max(answer["seconds"], 0.5), suites.SUITES.index(suite), suite) for suite, answer in answers.items() if answer["test"]]
    if not finders:
        return None
    suite = min(finders)[2]
    return suite, answers[suite]["test"]


def check_one(arguments, found, defect):
    """Returns the problem with the defect, or None."""
    answers = found.get(defect.name, {})
    known = quickest(answers)
    if known is None:
        return None if defect.equivalent else f"{defect.name}: no suite finds it, and nothing says why"
    suite, test = known
    # A test with threads can miss the defect once.
    if any(suites.find(arguments.bin, suite, defect.name, defect.source, "" if test == "?" else test).test for _ in range(TRIES)):
        return None
    # A seed produces a different run as soon as the engine sends one more request.
    if suite == "simulation" and suites.find(arguments.bin, suite, defect.name, defect.source).test:
        return None
    return f"{defect.name}: no longer found by {suite}, {test}"


def seeds_that_find(found):
    """Returns, by defect name, the seed that finds the defect and the invariant that it breaks."""
    tests = {name: answers.get("simulation", {}).get("test", "") for name, answers in found.items()}
    return {name: test.split(" ") for name, test in tests.items() if " " in test}


def try_seeds(arguments, found, defects):
    """Returns whether each seed still finds its defect, by defect name."""
    seeds = seeds_that_find(found)

    def still_finds(defect):
        seed, invariant = seeds[defect.name]
        answer = suites.find(arguments.bin, "simulation", defect.name, defect.source, f"{seed} {invariant}")
        return defect.name, answer.test != ""

    return dict(in_parallel(arguments.jobs, still_finds, [defect for defect in defects if defect.name in seeds]))


def check_seeds(arguments, found, defects):
    """Prints how many seeds still find their defect. Returns a problem for each invariant if fewer than half of its seeds do,
    and another problem if fewer than four fifths of all seeds do."""
    seeds, finds = seeds_that_find(found), try_seeds(arguments, found, defects)
    lost = collections.Counter(seeds[name][1] for name, does in finds.items() if not does)
    of = collections.Counter(seeds[name][1] for name in finds)
    print(f"{sum(finds.values())} of {len(finds)} seeds of the simulation's column find their defect; "
          f"not so those of {', '.join(name for name, does in finds.items() if not does) or 'none'}")
    wrong = [] if sum(finds.values()) >= STILL_FIND_IN_ALL * len(finds) else ["too few seeds find their defect: `run.py renew`"]
    return wrong + [f"{invariant}: {of[invariant] - lost[invariant]} of {of[invariant]} seeds still find their defect; if the simulation is "
            "another one now, `run.py renew`" for invariant in of if of[invariant] - lost[invariant] < STILL_FIND * of[invariant]]


def check(arguments):
    found, defects = read_found(), read_all()
    wrong = [problem for problem in in_parallel(arguments.jobs, lambda d: check_one(arguments, found, d), defects) if problem]
    wrong += check_seeds(arguments, found, defects)
    for problem in wrong:
        print(problem)
    finders = sum(quickest(found.get(defect.name, {})) is not None for defect in defects)
    print(f"{len(defects)} planted defects, {finders} of them with a test that finds them; {len(wrong)} problems")
    return 1 if wrong else 0


class Filling:
    """The results of all defects and suites, stored in the file after each run."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.found = read_found()
        self.sources = {defect.name: defect.source for defect in read_all()}
        self.names = list(self.sources)
        self.lock = threading.Lock()
        self.asked = {}
        self.until = time.monotonic() + 60 * arguments.minutes

    def missing(self):
        names = [name for name in self.names if not (self.arguments.unfound and quickest(self.found.get(name, {})))]
        wanted = [(suite, name) for suite in self.arguments.suites for name in names]
        return [(suite, name) for suite, name in wanted if not self.is_known(suite, self.found.get(name, {}).get(suite))]

    def is_known(self, suite, answer):
        return answer is not None and (suite != "simulation" or answer["test"] or answer["tried"] >= self.arguments.seeds)

    def is_asked(self, suite, name):
        if suite == "simulation":
            return True
        with self.lock:
            if suite not in self.asked:
                self.asked[suite] = suites.asked(self.arguments.bin, suite)
            return name in self.asked[suite]

    def fill_one(self, missing):
        suite, name = missing
        if time.monotonic() > self.until:
            return
        tried = self.found.get(name, {}).get(suite, {}).get("tried", 0)
        result = suites.Finding("", 0)
        if suites.runs(suite, self.sources[name]) and self.is_asked(suite, name):
            result = suites.find(self.arguments.bin, suite, name, self.sources[name], seeds=self.arguments.seeds, tried=tried)
        answer = {"test": result.test, "seconds": round(result.seconds, 1)}
        if suite == "simulation":
            answer["tried"] = result.tried
        with self.lock:
            self.found.setdefault(name, {})[suite] = answer
            write_found(self.found, self.names)
            print(f"{name:32} {suite:10} {result.test or '-'} ({result.seconds:.1f} s)", flush=True)


def fill(arguments):
    if arguments.fresh and FOUND.exists():
        FOUND.unlink()
    filling = Filling(arguments)
    in_parallel(arguments.jobs, filling.fill_one, filling.missing())
    left = len(filling.missing())
    print(f"{left} runs are left" if left else "all is known")
    return 0


def renew(arguments):
    found, defects, lock = read_found(), read_all(), threading.Lock()
    finds = try_seeds(arguments, found, defects)

    def look(defect):
        answer = suites.find(arguments.bin, "simulation", defect.name, defect.source, seeds=arguments.seeds)
        with lock:
            before = found[defect.name]["simulation"]["test"]
            found[defect.name]["simulation"] = {"test": answer.test, "seconds": round(answer.seconds, 1), "tried": answer.tried}
            write_found(found, [one.name for one in defects])
            print(f"{defect.name:32} {before} -> {answer.test or '-'}", flush=True)

    in_parallel(arguments.jobs, look, [defect for defect in defects if finds.get(defect.name) is False])
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["off", "check", "renew", "fill"])
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of the programs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--suites", nargs="+", choices=suites.SUITES, default=suites.SUITES)
    parser.add_argument("--seeds", type=int, default=suites.SEEDS, help="number of seeds that the simulation tries")
    parser.add_argument("--minutes", type=float, default=1e6, help="time after which fill starts no further run")
    parser.add_argument("--unfound", action="store_true", help="fill: only defects that no suite has found yet")
    parser.add_argument("--fresh", action="store_true", help="fill: discard found.json first")
    arguments = parser.parse_args()
    sys.exit({"off": off, "check": check, "renew": renew, "fill": fill}[arguments.command](arguments))


if __name__ == "__main__":
    main()
