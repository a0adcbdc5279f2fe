#!/usr/bin/env python3
"""Writes the tables of docs/evidence/planted-defects.md from the lists of defects and found.json; `page.py --check` writes nothing,
and fails if the page has other ones."""
import collections
import sys

from defects import LISTS, ROOT, read_all, read_list
from run import read_found
from suites import SEEDS, SUITES

PAGE = ROOT / "docs/evidence/planted-defects.md"
BEGIN, END = "<!-- written by tests/planted/page.py -->\n", "<!-- end -->\n"
PARTS = {"decides": "decides", "rollout": "decides a rollout in stages", "ring": "reads, writes, tells", "wire": "bytes and the API server",
         "host": "the C interface"}


def tests_of(found, defect):
    return {suite: answer["test"] for suite, answer in found.get(defect.name, {}).items() if answer["test"]}


def cell(found, defect, suite):
    answer = found.get(defect.name, {}).get(suite)
    if answer is None:
        return "?"
    if answer["test"]:
        return answer["test"] if suite == "simulation" else "x"
    return {True: "reached", False: "never reached"}.get(answer.get("reached"), "")


def share(count, of):
    return f"{count} of {of}, {100 * count // max(of, 1)} %"


def summary(found):
    yield f"| | defects | found by any | {' | '.join(SUITES)} | equivalent |"
    yield "|---" * (len(SUITES) + 4) + "|"
    total = collections.Counter()
    for path in LISTS:
        counts = collections.Counter()
        for defect in read_list(path):
            finders = tests_of(found, defect)
            counts.update(["defects"] + list(finders) + ["any"] * bool(finders) + ["equivalent"] * bool(defect.equivalent))
        total += counts
        yield row(PARTS[path.stem], counts)
    yield row("all", total)


def row(name, counts):
    of = counts["defects"]
    shares = " | ".join(str(counts[suite]) for suite in SUITES[:-1])
    return f"| {name} | {of} | {share(counts['any'], of)} | {shares} | {share(counts['simulation'], of)} | {counts['equivalent']} |"


def table(found):
    yield f"| defect | in | {' | '.join(SUITES)} |"
    yield "|---" * (len(SUITES) + 2) + "|"
    for defect in sorted(read_all(), key=lambda d: d.source):
        sentence = f"`{defect.name}`: {defect.sentence}".replace("|", "\\|")
        if defect.equivalent:
            sentence += f" *Equivalent: {defect.equivalent}*"
        source = defect.source.removeprefix("src/")
        yield f"| {sentence} | `{source}` | {' | '.join(cell(found, defect, suite) for suite in SUITES)} |"


def main():
    found = read_found()
    written = "\n".join([*summary(found), "", *table(found)]) + "\n"
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + written + END + rest.split(END)[1]
    if "--check" not in sys.argv:
        PAGE.write_text(wanted)
    elif wanted != text:
        sys.exit("docs/evidence/planted-defects.md has other tables than tests/planted/page.py writes: run it")


if __name__ == "__main__":
    main()
