#!/usr/bin/env python3
"""Writes the tables of tests/planted/README.md from the lists of defects and found.json; `page.py --check` writes nothing,
and fails if the page has other ones."""
import collections
import sys

from defects import LISTS, ROOT, read_all, read_list
from run import read_found
from suites import SEEDS, SUITES

PAGE = ROOT / "tests/planted/README.md"
BEGIN, END = "<!-- written by tests/planted/page.py -->\n", "<!-- end -->\n"
PARTS = {"decides": "decides", "rollout": "decides a rollout in stages", "ring": "reads, writes, tells", "wire": "bytes and the API server",
         "host": "the C interface"}

# What the simulation cannot see, by what is missing in it: folders and files whose defects are all of that kind, and single
# defects. Whatever stands in neither counts as something that it could see.
BLIND = {
    "the C interface, which engines do not run; asked with hosts in their place": (
        "c/", "host/", "store-older-pods-taken", "store-unreadable-pod-passed-over"),
    "reports: logs, metrics, Events, wording": (
        "tell/", "write/event_correlator.cc", "write/event_writer.cc", "write/transition_events.cc",
        "write/refusal_event.cc", "run/configuration_check.cc", "run/rollout_over.cc", "over-while-nodes-wait",
        "first-event-lost", "event-series-begins-anew", "watch-counted-as-list", "open-stream-counted-twice"),
    "objects that cannot be read, as all of its objects are whole": (
        "unreadable-driver-pod-judged", "unreadable-maintenance-is-nobodys", "unreadable-maintenance-is-read",
        "unreadable-node-available", "unreadable-node-is-a-strangers", "unreadable-node-judged", "unreadable-node-released",
        "unreadable-object-fails-the-watch", "unreadable-pod-keeps-the-list", "unreadable-pods-listed-as-none",
        "unreadable-record-does-not-halt", "unreadable-revision-passed-over", "cached-maintenance-is-nobodys",
        "one-pod-fails-the-list", "pod-of-no-known-node-passed-over"),
    "documents, of a policy or of the C interface, as its policies are values": (
        "clock-of-the-machine", "drain-always-on", "end-by-an-unknown-time", "first-of-several-documents", "fraction-means-for-ever",
        "last-closed-day-open", "negative-count-taken", "quoted-counts-as-a-number", "text-counts-as-a-number", "two-stages-of-one-name",
        "unknown-member-passed-over", "window-on-other-clocks", "zero-means-at-once"),
    "transports, and bytes that its API server never writes": (
        "kubernetes/redactor.cc",
        "error-is-text", "first-of-equal-keys", "nothing-is-left-out", "integers-cut", "lost-write-repeated", "not-sent-not-marked", "rate-slot-lost",
        "refused-eviction-repeated", "requests-not-read", "retry-after-unbounded", "unknown-readiness-is-ready"),
    "threads and real time, as it has one thread and virtual time": (
        "answers-wake-nobody", "callbacks-without-end", "calls-unbounded", "idle-not-told", "overrun-forgotten",
        "published-plan-changes", "sleep-ignores-stop"),
}

REST = "the rest: what it could see"


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


def blind_to(defect):
    source = defect.source.removeprefix("src/")
    for what, names in BLIND.items():
        if defect.name in names or any(source.startswith(name) for name in names if "/" in name):
            return what
    return REST


def eyesight(found):
    """How much of what the simulation could see it finds."""
    named = {name for names in BLIND.values() for name in names if "/" not in name}
    if unknown := named - {defect.name for defect in read_all()}:
        sys.exit(f"page.py: no such defects: {sorted(unknown)}")
    defects, finds, unasked = collections.Counter(), collections.Counter(), collections.Counter()
    for defect in read_all():
        what = blind_to(defect)
        defects[what] += 1
        unasked[what] += "simulation" not in found.get(defect.name, {})
        finds[what] += "simulation" in tests_of(found, defect)
    yield "| what the simulation cannot see | defects | found all the same | not run yet |"
    yield "|---|---|---|---|"
    for what in [*BLIND, REST]:
        yield f"| {what} | {defects[what]} | {share(finds[what], defects[what])} | {unasked[what]} |"


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
    written = "\n".join([*summary(found), "", *eyesight(found), "", *table(found)]) + "\n"
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + written + END + rest.split(END)[1]
    if "--check" not in sys.argv:
        PAGE.write_text(wanted)
    elif wanted != text:
        sys.exit("tests/planted/README.md has other tables than tests/planted/page.py writes: run it")


if __name__ == "__main__":
    main()
