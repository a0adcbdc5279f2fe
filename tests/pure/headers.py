#!/usr/bin/env python3
"""headers.py SOURCE BUILD: fails if a source of driverupgrade::pure includes, directly or through our headers, a header
that requires threads, a clock, files or YAML. Needs only Python's standard library."""
import json
import pathlib
import re
import sys

FORBIDDEN = {"stop_token", "thread", "mutex", "shared_mutex", "condition_variable", "future", "atomic", "semaphore",
             "fstream", "filesystem", "iostream", "yaml-cpp/yaml.h", "absl/time/clock.h",
             "driverupgrade/clock.h", "driverupgrade/cluster_facade.h"}


def included(path, root, seen):
    """Yields (header, file that includes it) for everything that `path` includes through our headers."""
    for name in re.findall(r'^#include [<"]([^">]+)[">]', path.read_text(encoding="utf-8"), re.MULTILINE):
        yield name, path
        for below in ("include", "src"):
            header = root / below / name
            if header.exists() and header not in seen:
                seen.add(header)
                yield from included(header, root, seen)


def main():
    root, build = (pathlib.Path(argument) for argument in sys.argv[1:])
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    sources = [entry["file"] for entry in entries if "driverupgrade_pure" in entry["command"]]
    if not sources:
        sys.exit("compile_commands.json has no source of driverupgrade::pure")
    mistakes = set()
    for source in sources:
        for name, where in included(pathlib.Path(source), root, set()):
            if name in FORBIDDEN:
                mistakes.add(f"{where.relative_to(root)} includes {name}, and {pathlib.Path(source).name} includes that")
    if mistakes:
        sys.exit("\n".join(sorted(mistakes)))
    print(f"{len(sources)} sources include no forbidden header")


if __name__ == "__main__":
    main()
