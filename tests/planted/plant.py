#!/usr/bin/env python3
"""plant.py DIRECTORY: writes a copy of each source that has planted defects, with all its defects. Skips copies that
are up to date. `plant.py --sources` prints the names of these sources."""
import pathlib
import sys

from defects import read_all, planted_source


def main():
    defects = read_all()
    sources = sorted({defect.source for defect in defects})
    if sys.argv[1] == "--sources":
        print(";".join(sources), end="")
        return
    for source in sources:
        copy = pathlib.Path(sys.argv[1]) / source
        text = planted_source(source, defects)
        if not copy.exists() or copy.read_text() != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)


if __name__ == "__main__":
    main()
