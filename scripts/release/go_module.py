#!/usr/bin/env python3
"""Writes the Go module of go/ as a module proxy serves it: go_module.py DIRECTORY, the root of the proxy.

With GOPROXY=file://DIRECTORY, or with DIRECTORY on a web server, `go get` finds the module. The version is
RELEASE_VERSION, and its time is SOURCE_DATE_EPOCH. As with `go mod`, nested modules are left out, and the repository's
license is included."""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = ROOT / "go"


def files():
    """Returns the paths in the zip, with the files that contain their content."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=MODULE, check=True, capture_output=True, text=True).stdout
    names = [name for name in listed.split("\0") if name]
    inside = tuple(name.removesuffix("go.mod") for name in names if name.endswith("/go.mod"))
    taken = {name: MODULE / name for name in names if not name.startswith(inside)}
    return {"LICENSE": ROOT / "LICENSE"} | taken


def write_zip(path, prefix):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, file in sorted(files().items()):
            # The earliest time that a zip file can contain, because `go mod` writes no times.
            archive.writestr(zipfile.ZipInfo(prefix + name), file.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def main():
    version = "v" + os.environ["RELEASE_VERSION"]
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    definition = (MODULE / "go.mod").read_text(encoding="utf-8")
    module = re.search(r"^module (\S+)$", definition, re.MULTILINE).group(1)
    folder = pathlib.Path(sys.argv[1]) / module / "@v"
    folder.mkdir(parents=True)
    (folder / "list").write_text(version + "\n", encoding="utf-8")
    (folder / f"{version}.mod").write_text(definition, encoding="utf-8")
    info = {"Version": version, "Time": time.strftime("%Y-%m-%dT%H:%M:%SZ")}
    (folder / f"{version}.info").write_text(json.dumps(info) + "\n", encoding="utf-8")
    write_zip(folder / f"{version}.zip", f"{module}@{version}/")


if __name__ == "__main__":
    main()
