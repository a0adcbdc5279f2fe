#!/usr/bin/env python3
"""Checks the pages as a whole. Every link must have a target, and docs/README.md must lead to every page of docs/. Pages for
users and public headers must give reasons in words instead of rule tags such as dep-F7. docs/write-your-operator.md must
show every line of its example."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("bench", "deploy", "docs", "examples", "packaging", "tests", "tools")
INDEX = ROOT / "docs/README.md"
TUTORIAL = ROOT / "docs/write-your-operator.md"
EXAMPLE = ROOT / "examples/service"
LINK = re.compile(r"\]\(([^()\s]+)\)")
TAG = re.compile(
    r"\b(?:arch-A|api-A|drain-D|dep-F|doc-D|defect-D)\d+|[ (](?:T|H)\d+[a-c]?[,.;)]"
    # In backquotes or quotes, a letter with a number is part of an invariant's report.
    r"|(?<![\w`\"/-])[EILRS]\d{1,2}(?![\w%])"
)
# Pages for authors. They explain tags and how to cite them, and list decisions and changes.
FOR_AUTHORS = ("docs/adr/", "docs/README.md", "tests/", "CONTRIBUTING.md", "CHANGELOG.md")


def without_code(text):
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)


def anchors(page):
    """Returns the anchors that GitHub creates for headings."""
    headings = re.findall(r"^#+ +(.*)$", without_code(page.read_text(encoding="utf-8")), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def target(page, link):
    path, _, anchor = link.partition("#")
    return (page.parent / path).resolve() if path else page, anchor


def broken_links(page):
    for link in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        file, anchor = target(page, link)
        if not file.exists():
            yield f"leads nowhere: {link}"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"there is no such heading: {link}"


def tags(page):
    if str(page.relative_to(ROOT)).startswith(FOR_AUTHORS):
        return
    for tag in TAG.findall(page.read_text(encoding="utf-8")):
        yield f"a tag in place of a reason: {tag.strip(' (),.;')}"


def not_in_index():
    linked = {target(INDEX, link)[0] for link in LINK.findall(INDEX.read_text(encoding="utf-8"))}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page != INDEX and page not in linked:
            yield f"does not name {page.relative_to(INDEX.parent)}"


def not_shown():
    """Yields the lines of files in examples/service that no block of TUTORIAL quotes."""
    text = TUTORIAL.read_text(encoding="utf-8")
    for file in sorted(path for path in EXAMPLE.iterdir() if path.suffix in (".cc", ".h", ".yaml")):
        name = str(file.relative_to(ROOT))
        rest = file.read_text(encoding="utf-8")
        for block in re.findall(rf"^<!-- from: {re.escape(name)} -->\n```\w+\n(.*?)^```", text, flags=re.S | re.M):
            rest = rest.replace(block, "", 1)
        for line in filter(str.strip, rest.splitlines()):
            yield f"does not show this line of {name}: {line}"


def main():
    pages = sorted(ROOT.glob("*.md"))
    for folder in FOLDERS:
        pages += sorted((ROOT / folder).rglob("*.md"))
    mistakes = [(page, mistake) for page in pages for check in (broken_links, tags) for mistake in check(page)]
    mistakes += [(header, mistake) for header in sorted((ROOT / "include").rglob("*.h")) for mistake in tags(header)]
    mistakes += [(INDEX, mistake) for mistake in not_in_index()]
    mistakes += [(TUTORIAL, mistake) for mistake in not_shown()]
    for page, mistake in mistakes:
        print(f"{page.relative_to(ROOT)}: {mistake}")
    sys.exit(1 if mistakes else 0)


if __name__ == "__main__":
    main()
