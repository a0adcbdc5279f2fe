#!/usr/bin/env python3
"""Compares every place that repeats the version with include/driverupgrade/version.h, where it is written once.

  versions.py [VERSION]   prints the version. VERSION, the version of CMake's project or of a release, is also compared.
  versions.py --self-test [VERSION]   also changes each place in turn, and checks that the change is noticed.

Exits with 1 if a version differs, and prints where.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = "include/driverupgrade/version.h"
# A version number. Other numbers, such as 127.0.0.1, have more parts.
VERSION = r"(\d+\.\d+\.\d+)(?![\d.])"
IMAGE = rf"(?:driverupgrade|driver-manager):{VERSION}"
# Each file that matches the pattern contains the version at least once. All these places must have the version, or its
# first two parts.
PLACES = (
    ("CHANGELOG.md", rf"\A(?:(?!^## \d).*\n)*## {VERSION}"),
    ("README.md", rf"^\| status \| {VERSION}"),
    ("deploy/helm/*/Chart.yaml", rf"^version: {VERSION}$"),
    ("deploy/helm/*/Chart.yaml", rf"^appVersion: {VERSION}$"),
    ("deploy/*/operator/deployment.yaml", IMAGE),
    ("deploy/image/Containerfile", IMAGE),
    ("docs/deploying.md", IMAGE),
    ("docs/packaging.md", rf"^driverupgrade/{VERSION}$"),
    ("docs/packaging.md", r"find_package\(driverupgrade (\d+\.\d+) "),
    ("docs/packaging.md", r"that requests `(\d+\.\d+)`"),
    ("examples/operators/*/daemonset.yaml", IMAGE),
    # The WebAssembly that scripts/build-wasm.sh creates contains the version as a string. The web pages of Go operators
    # show it.
    ("go/internal/wasm/driverupgrade.go", rf"\\x00{VERSION}\\x00"),
    ("include/driverupgrade/c/driverupgrade.h", rf'version of the library: "{VERSION}"'),
    ("packaging/vcpkg/ports/driverupgrade/vcpkg.json", rf'"version": "{VERSION}"'),
    ("tests/package/consumers/conan/conanfile.txt", rf"^driverupgrade/{VERSION}$"),
    ("tests/package/consumers/find_package_core/CMakeLists.txt", r"find_package\(driverupgrade (\d+\.\d+) "),
    ("vcpkg.json", rf'"version": "{VERSION}"'),
)


def read_places():
    """Yields the name, the text and the pattern of each place."""
    for files, pattern in PLACES:
        paths = sorted(ROOT.glob(files)) or [ROOT / files]
        for path in paths:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), re.compile(pattern, re.MULTILINE)


def header_version(text):
    """Returns the version of the header, and the version that its three numbers form."""
    number = {part: re.search(rf"_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH")}
    return re.search(r'_VERSION_STRING "([^"]+)"', text).group(1), ".".join(number.values())


def differences(version, places):
    for name, text, pattern in places:
        found = pattern.findall(text)
        if not found:
            yield f"{name}: no version where one is expected ({pattern.pattern})"
        for other in found:
            if other not in (version, version.rpartition(".")[0]):
                yield f"{name}: version {other}, but {HEADER} has {version}"


def unnoticed(version, places):
    """Yields an error for each place at which `differences` would not notice a different version."""
    for name, text, pattern in places:
        for match in pattern.finditer(text):
            changed = text[: match.start(1)] + "99.98.97" + text[match.end(1) :]
            if not list(differences(version, [(name, changed, pattern)])):
                yield f"{name}: another version in the place of {match.group(0)} is not noticed"


def main():
    arguments = sys.argv[1:]
    self_test = "--self-test" in arguments
    version, numbers = header_version((ROOT / HEADER).read_text(encoding="utf-8"))
    places = list(read_places())
    mistakes = list(differences(version, places))
    mistakes += [f"{HEADER}: the numbers make {numbers}, the string is {version}"] if numbers != version else []
    mistakes += [f"{wanted} was requested, but the version in {HEADER} is {version}" for wanted in arguments
                 if wanted not in (version, "--self-test")]
    mistakes += unnoticed(version, places) if self_test else []
    for mistake in mistakes:
        print(f"versions: {mistake}", file=sys.stderr)
    if not mistakes:
        print(version)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
