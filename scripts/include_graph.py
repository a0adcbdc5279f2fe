#!/usr/bin/env python3
"""Draws the includes between the directories of include/ and src/ into docs/architecture.md. Fails if a file includes a directory
above its own, or if directories inside one directory include each other in a cycle. Needs only Python's standard library.

  include_graph.py            writes the drawing
  include_graph.py --check    writes nothing, and fails if the drawing on the page is outdated
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- written by scripts/include_graph.py -->\n```mermaid\n", "```\n"

# The directories of src/ that make up core, from the bottom up: each includes only the directories before it.
CORE = ["base", "model", "policy", "cluster", "decide", "observe", "read", "write", "ledger", "core", "engine"]
# The other components: the highest directory of core that each may include, and the other components that it may
# include.
COMPONENTS = {
    "wire": ("cluster", []),
    "kubernetes": ("observe", ["wire"]),
    "prometheus": ("read", []),
    "testing": ("engine", ["wire"]),
    "report": ("observe", ["wire"]),
    "service": ("engine", ["prometheus", "report"]),
    "whatif": ("engine", ["wire", "testing"]),
    "embed": ("core", ["wire", "kubernetes", "report"]),
    "c": ("engine", ["wire", "whatif", "embed", "kubernetes"]),
}
# A public header belongs to the directory of its source. These headers have no source.
HEADERS_ALONE = {
    "abseil_abi": "base",
    "cluster_reads": "model",
    "device_types": "model",
    "taint": "model",
    "engine_options": "policy",
    "policy_values": "policy",
    "version": "base",
}
# The drawing leaves out the directories that nearly everything includes.
NOT_DRAWN = {"base", "model", "policy"}


def folder_of(path):
    """Returns the directory that a file below include/driverupgrade or src belongs to, or None."""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    if len(parts) > 3:
        return parts[2]
    if path.stem in HEADERS_ALONE:
        return HEADERS_ALONE[path.stem]
    sources = list((ROOT / "src").rglob(f"{path.stem}.cc"))
    return sources[0].relative_to(ROOT / "src").parts[0] if len(sources) == 1 else None


def below(folder):
    """Returns the directories that a file in `folder` may include, including its own."""
    if folder in CORE:
        return CORE[: CORE.index(folder) + 1]
    top, others = COMPONENTS[folder]
    return CORE[: CORE.index(top) + 1] + others + [folder]


def includes():
    """Yields (file, included file) for files of this project."""
    for top in ("include", "src"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            for include in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
                for candidate in (ROOT / "include" / include, ROOT / "src" / include):
                    if candidate.exists():
                        yield path, candidate


def look():
    """Returns the arrows between directories, and the violations."""
    arrows, mistakes = set(), []
    for path, included in includes():
        own, other = folder_of(path), folder_of(included)
        if own not in CORE and own not in COMPONENTS:
            mistakes.append(f"{path.relative_to(ROOT)}: belongs to no folder of scripts/include_graph.py")
        elif other not in below(own):
            mistakes.append(f"{path.relative_to(ROOT)}: {own} may not include {included.name}, which is in {other}")
        elif own != other:
            arrows.add((own, other))
    return arrows, sorted(set(mistakes)) + circles()


def circles():
    """Returns directories inside a directory of src/ that include each other, directly or through others."""
    below_it = {}
    for path, included in includes():
        own, other = path.parent, included.parent
        if own != other and own.parent == other.parent and own.parent.parent == ROOT / "src":
            below_it.setdefault(own, set()).add(other)

    def reaches(folder, wanted, seen):
        for other in below_it.get(folder, set()) - seen:
            seen.add(other)
            if other == wanted or reaches(other, wanted, seen):
                return True
        return False

    return [
        f"{folder.relative_to(ROOT)} includes itself through its neighbours"
        for folder in sorted(below_it)
        if reaches(folder, folder, set())
    ]


def drawing(arrows):
    order = [folder for folder in [*CORE, *COMPONENTS] if folder not in NOT_DRAWN]
    lines = ["flowchart TD"]
    lines += [f'  {folder}["{folder}/"]' for folder in order]
    drawn = [arrow for arrow in arrows if not NOT_DRAWN & set(arrow)]
    for own, other in sorted(drawn, key=lambda arrow: (order.index(arrow[0]), order.index(arrow[1]))):
        lines.append(f"  {own} --> {other}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    arrows, mistakes = look()
    if mistakes:
        sys.exit("\n".join(mistakes))
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(BEGIN) + len(BEGIN)
    drawn = text[:begin] + drawing(arrows) + text[text.index(END, begin) :]
    if not arguments.check:
        PAGE.write_text(drawn, encoding="utf-8")
    elif drawn != text:
        sys.exit("docs/architecture.md has another drawing than scripts/include_graph.py makes")


if __name__ == "__main__":
    main()
