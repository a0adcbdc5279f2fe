#!/usr/bin/env python3
"""Checks that the links of the installed pages work.

    installed.py BUILD WORK

Installs the documentation of the build directory BUILD below WORK, away from the sources, and follows each link of each
page."""
import pathlib
import shutil
import subprocess
import sys

import pages


def install(build, prefix):
    shutil.rmtree(prefix, ignore_errors=True)
    command = ["cmake", "--install", build, "--component", "driverupgrade_doc", "--prefix", prefix]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main():
    build, prefix = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    install(build, prefix)
    installed = sorted(prefix.rglob("*.md"))
    mistakes = [(page, mistake) for page in installed for mistake in pages.broken_links(page)]
    for page, mistake in mistakes:
        print(f"{page.relative_to(prefix)}: {mistake}")
    if not any(page.name == "README.md" for page in installed):
        sys.exit("the component driverupgrade_doc installs no README.md")
    sys.exit(1 if mistakes else 0)


if __name__ == "__main__":
    main()
