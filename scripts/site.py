#!/usr/bin/env python3
"""Collects the pages for the documentation site, and writes the configuration of MkDocs.

    site.py FOLDER      writes FOLDER/mkdocs.yml and FOLDER/pages; FOLDER/pages/api may contain the API reference

The pages keep their paths, so that the links between them work. Files that they link to, such as examples, become part of the site.
The navigation follows the tables of docs/README.md.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^\s*(```|~~~)")


def tracked_pages():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [pathlib.Path(name) for name in names if not name.endswith("template.md")]


def resolve(page, target):
    """Returns the path of a linked file relative to the root, and the fragment; None for links that leave the repository."""
    path, _, fragment = target.partition("#")
    if not path or "://" in target or target.startswith("mailto:"):
        return None, fragment
    found = (ROOT / page.parent / path).resolve()
    return (found.relative_to(ROOT) if found.is_relative_to(ROOT) else None), fragment


def with_links(page, text, linked):
    """Adds the files that the text links to, and makes links to directories point to their README."""
    def replace(match):
        before, target, after = match.groups()
        path, fragment = resolve(page, target)
        if path is None:
            return match[0]
        if (ROOT / path).is_dir():
            if not (ROOT / path / "README.md").is_file():
                return re.match(r"!?\[([^\]]*)\]", before)[1]  # the text alone
            target = target.partition("#")[0].rstrip("/") + "/README.md" + ("#" + fragment if fragment else "")
            path = path / "README.md"
        linked.add(path)
        return before + target + after
    return LINK.sub(replace, text)


def stage(page, pages, linked):
    # Prose and code blocks alternate. A link in prose may span lines.
    blocks, is_code = [""], False
    for line in (ROOT / page).read_text().splitlines(keepends=True):
        if FENCE.match(line):
            is_code = not is_code
            blocks.append("")
        blocks[-1] += line
    staged = [with_links(page, block, linked) if i % 2 == 0 else block for i, block in enumerate(blocks)]
    target = pages / page
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(staged))


def navigation():
    """Returns the sections of docs/README.md with the first link of each row of their tables."""
    index = pathlib.Path("docs/README.md")
    sections, title, rows = [{"driverupgrade": "README.md"}], None, []
    for line in (ROOT / index).read_text().splitlines() + ["## "]:
        if line.startswith("## "):
            if rows:
                sections.append({title: rows})
            title, rows = line[3:], []
        link = re.match(r"\| \[`?([^\]`]+)`?\]\(([^)#]+)\)", line)
        path = resolve(index, link[2])[0] if link else None
        if path is not None and path.suffix == ".md":
            rows.append({heading(path): str(path)})
    return sections + [{"API reference": "api/index.html"}]


def heading(path):
    first = next(line for line in (ROOT / path).read_text().splitlines() if line.startswith("# "))
    return first[2:].replace("`", "")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages, linked, all_pages = folder / "pages", set(), tracked_pages()
    for page in all_pages:
        stage(page, pages, linked)
    for path in sorted(linked.difference(all_pages)):
        (pages / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, pages / path)
    # JSON is also valid YAML.
    (folder / "mkdocs.yml").write_text(json.dumps({
        "site_name": "driverupgrade",
        "docs_dir": str(pages),
        "site_dir": str(folder / "html"),
        "use_directory_urls": False,
        "theme": {"name": "material", "font": False, "features": ["navigation.sections", "navigation.top", "search.highlight"],
                  "palette": [{"media": "(prefers-color-scheme: light)", "scheme": "default"},
                              {"media": "(prefers-color-scheme: dark)", "scheme": "slate"}]},
        "plugins": ["search"],
        "markdown_extensions": ["tables", "fenced_code", "admonition", {"toc": {"permalink": True}}],
        "nav": navigation()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
