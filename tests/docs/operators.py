#!/usr/bin/env python3
"""Checks tests/docs/operators.md and tests/docs/upgradectl.md. The tests that their rows name must exist. Only the
tests in the fourth column may run on a control plane. The row numbers must have no gaps.

    operators.py PAGE

A row is `| 10.1 | behavior | tests | tests with a control plane |`. A test is `FILE_test.cc: TEST CASE` or `ctest.name`, in
backticks. A cell without a test is –."""
import pathlib
import re
import sys

import documents

CONTROL_PLANE = "tests/controlplane"
# For each page, its row numbers, and the numbers of the rows that only a real control plane or a real kubelet can test.
PAGES = {
    "operators": (range(1, 23), {3, 4, 14, 15, 17, 18, 21, 22}),
    "upgradectl": (range(1, 10), {1, 2, 3, 5, 6, 7, 9}),
}
ROW = re.compile(r"^\| (\d+)(?:\.(\d+))? \|(.*)\|$", re.M)


def ctests():
    """Yields names of tests that are not in C++. A name with a variable yields one name for each value of its foreach."""
    for folder in ("deploy", "docs", "tools/upgradectl"):
        text = (documents.ROOT / "tests" / folder / "CMakeLists.txt").read_text(encoding="utf-8")
        values = {name: words.split() for name, words in re.findall(r"foreach\((\w+) ([\w ]+)\)", text)}
        for name in re.findall(r"add_test\(NAME (\S+)", text):
            variable = re.search(r"\$\{(\w+)\}", name)
            words = values.get(variable[1], []) if variable else [""]
            yield from (name.replace(variable[0], word) if variable else name for word in words)


def mistakes_of_row(cells, known, on_control_plane, others):
    if len(cells) != 3 or not all(cells):
        yield "needs four cells that are not empty"
        return
    for cell, wanted in ((cells[1], known - on_control_plane | others), (cells[2], on_control_plane)):
        names = re.findall(r"`([^`]*)`", cell)
        if re.sub(r"`[^`]*`", "", cell).strip(", ") != ("" if names else "–"):
            yield "has text other than tests"
        for name in names:
            if name not in wanted:
                yield f"there is no such test in this column: {name}"
    if not re.search(r"`", cells[1] + cells[2]):
        yield "names no test"


def mistakes(page, numbers, need_control_plane):
    known = documents.tests()
    on_control_plane = documents.tests([CONTROL_PLANE])
    others = set(ctests())
    shown = {}
    for number, part, rest in ROW.findall(page.read_text(encoding="utf-8")):
        cells = [cell.strip() for cell in rest.split(" | ")]
        for mistake in mistakes_of_row(cells, known, on_control_plane, others):
            yield f"{number}{'.' + part if part else ''}: {mistake}"
        parts = shown.setdefault(int(number), [])
        parts.append("`" in cells[-1])
        if part and int(part) != len(parts):
            yield f"{number}.{part}: is part {len(parts)}"
    if sorted(shown) != list(numbers):
        yield f"the numbers are {sorted(shown)}"
    for number in need_control_plane & shown.keys():
        if not any(shown[number]):
            yield f"{number}: no test shows it on a control plane"


def main():
    page = documents.ROOT / f"tests/docs/{sys.argv[1]}.md"
    found = list(mistakes(page, *PAGES[sys.argv[1]]))
    for mistake in found:
        print(f"{page.relative_to(documents.ROOT)}: {mistake}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
