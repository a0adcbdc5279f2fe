#!/usr/bin/env python3
"""Checks tests/docs/documents.md: the files and tests in its rows must exist, and the counts at its top must match its rows.

A row is `| G1 | statement | where | shown by |`. Tests are `scenario:NAME`, `field:NAME`, `FILE_test.cc: TEST CASE` or
`FILE.py`, in backticks. The third cell of a deliberate difference starts with `differs: ` and links to
docs/compatibility.md. The third cell of a statement that the product does not fulfill starts with `missing: `."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "tests/docs/documents.md"
SOURCES = ("examples", "tests", "tools")
ROW = re.compile(r"^\| ([A-Z])(\d+) \|(.*)\|$", re.M)
COUNTS = re.compile(r"^\| [^|]+ \| ([A-Z]) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.M)
TEST_CASE = re.compile(r'^TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', re.M)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def tests(folders=SOURCES):
    """Returns `FILE_test.cc: TEST CASE` for every test case. The name can consist of several string literals."""
    found = set()
    for folder in folders:
        for file in (ROOT / folder).rglob("*_test.cc"):
            for name in TEST_CASE.findall(file.read_text(encoding="utf-8")):
                found.add(f"{file.name}: {''.join(TEXT.findall(name))}")
    return found


def exists(test, known):
    if test.startswith("scenario:"):
        return (ROOT / f"tests/scenarios/{test.removeprefix('scenario:')}.txt").is_file()
    if test.startswith("field:"):
        return (ROOT / f"tests/field/{test.removeprefix('field:')}/case.txt").is_file()
    if test.endswith(".py"):
        return (ROOT / test).is_file()
    return test in known


def kind(where):
    return next((word for word in ("differs", "missing") if where.startswith(word + ": ")), "done")


def mistakes_of_row(cells, known):
    if len(cells) != 3 or not all(cells):
        yield "needs four cells that are not empty"
        return
    _, where, shown = cells
    names = re.findall(r"`([^`]*)`", shown)
    if re.sub(r"`[^`]*`", "", shown).strip(", –"):
        yield "has text other than tests in its last cell"
    if kind(where) == "done" and not names:
        yield "names no test"
    if kind(where) == "differs" and "](../../docs/compatibility.md#" not in where:
        yield "does not link to the reason"
    for name in names:
        if not exists(name, known):
            yield f"there is no test {name}"
    for path in re.findall(r"`([^`\s]*/[^`\s]*)`", where):
        if "." in path.rsplit("/", 1)[1] and not (ROOT / path).exists():
            yield f"there is no {path}"


def mistakes():
    text = PAGE.read_text(encoding="utf-8")
    known = tests()
    rows = {}
    for letter, number, rest in ROW.findall(text):
        cells = [cell.strip() for cell in rest.split(" | ")]
        kinds = rows.setdefault(letter, [])
        kinds.append(kind(cells[1]) if len(cells) > 1 else "")
        if int(number) != len(kinds):
            yield f"{letter}{number}: is row {len(kinds)} of its table"
        for mistake in mistakes_of_row(cells, known):
            yield f"{letter}{number}: {mistake}"
    counts = {letter: [int(count) for count in rest] for letter, *rest in COUNTS.findall(text)}
    wanted = {}
    for letter, kinds in rows.items():
        wanted[letter] = [len(kinds), *map(kinds.count, ("done", "differs", "missing"))]
    wanted["A"] = [sum(column) for column in zip(*wanted.values())]  # sums over all tables
    for letter in sorted(wanted.keys() | counts.keys()):
        if counts.get(letter) != wanted.get(letter):
            yield f"{letter}: the counts are {wanted.get(letter)}, not {counts.get(letter)}"


def main():
    found = list(mistakes())
    for mistake in found:
        print(f"{PAGE.relative_to(ROOT)}: {mistake}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
