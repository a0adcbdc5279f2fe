#!/usr/bin/env python3
"""Writes the fields of deploy/crds/upgrade-policy.yaml into the definitions next to it, between the marks. With --check it
only reports whether they are up to date."""
import pathlib
import sys

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "deploy/crds"
FIELDS = FOLDER / "upgrade-policy.yaml"
BEGIN, END = "# Generated from upgrade-policy.yaml by scripts/crds.py. Do not edit.\n", "# End of the generated fields.\n"


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False)


def fields():
    return yaml.dump(yaml.safe_load(FIELDS.read_text()), Dumper=Dumper, sort_keys=False, width=1000)


def rendered(text):
    before, rest = text.split(BEGIN)
    made, after = rest.split(END)
    indent = before.rsplit("\n", 1)[1]
    return before + BEGIN + "".join(indent + line + "\n" for line in fields().splitlines()) + indent + END + after


def main():
    stale = []
    for path in sorted(FOLDER.glob("*.yaml")):
        text = path.read_text()
        if path == FIELDS:
            continue
        if text.count(BEGIN) != 1 or text.count(END) != 1:
            sys.exit(f"crds: {path.name} does not have the marks once")
        if rendered(text) == text:
            continue
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(rendered(text))
    if stale and "--check" in sys.argv:
        sys.exit(f"crds: not up to date, run scripts/crds.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
