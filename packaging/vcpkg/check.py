#!/usr/bin/env python3
"""Checks the vcpkg port as far as possible without vcpkg: both manifests against the schema next to this file, their
version against version.h, the port against the library's CMake files, and the consumer's manifest of docs/packaging.md
against the port. Prints one line for each error."""

import json
import pathlib
import re
import sys

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
PORT = ROOT / "packaging/vcpkg/ports/driverupgrade"
MANIFESTS = {"vcpkg.json": ROOT / "vcpkg.json", "the port's vcpkg.json": PORT / "vcpkg.json"}
CONSUMER = ROOT / "tests/package/consumers/vcpkg/vcpkg.json"
# Ports that vcpkg has removed from its registry: no default feature may need such a port.
REMOVED = {"cpprestsdk"}


def names(dependencies):
    return [d if isinstance(d, str) else d["name"] for d in dependencies]


def schema_errors(title, manifest, required=None):
    schema = json.loads((ROOT / "packaging/vcpkg/vcpkg.schema.json").read_text())
    schema["required"] = schema["required"] if required is None else required
    jsonschema.Draft7Validator.check_schema(schema)
    for error in jsonschema.Draft7Validator(schema).iter_errors(manifest):
        yield f"{title}: {'.'.join(map(str, error.absolute_path)) or 'top'}: {error.message}"


def manifest_errors(title, manifest, version):
    if manifest["version"] != version:
        yield f"{title}: version {manifest['version']}, but version.h says {version}"
    features = manifest["features"]
    for feature in set(manifest["default-features"]) - features.keys():
        yield f"{title}: {feature} is a default feature, but no feature"
    needed = names(manifest["dependencies"])
    for feature in features.keys() & set(manifest["default-features"]):
        needed += names(features[feature]["dependencies"])
    for dependency in REMOVED & set(needed):
        yield f"{title}: needs {dependency} by default, which is not in the registry"
    # Checks for the order that `vcpkg format-manifest` produces.
    for where, listed in [("dependencies", needed[: len(manifest["dependencies"])]), ("features", list(features))] + [
        (f"features.{name}", names(feature["dependencies"])) for name, feature in features.items()
    ]:
        if listed != sorted(listed):
            yield f"{title}: {where} are not sorted"


def difference_errors(root, port):
    """Checks that the repository's manifest contains the port's manifest, and the dependencies of tests and examples."""
    host_tools = {"vcpkg-cmake", "vcpkg-cmake-config"}
    if set(names(root["dependencies"])) != set(names(port["dependencies"])) - host_tools:
        yield "the manifests do not have the same dependencies"
    for name, feature in port["features"].items():
        if root["features"].get(name, {}).get("dependencies") != feature["dependencies"]:
            yield f"the manifests do not have the same feature {name}"


def port_errors(port):
    portfile = (PORT / "portfile.cmake").read_text()
    choices = dict(re.findall(r"^ +(\w+) (DRIVERUPGRADE_\w+)\)?$", portfile, re.MULTILINE))
    if choices.keys() != port["features"].keys():
        yield f"portfile.cmake: has the features {sorted(choices)}, the manifest {sorted(port['features'])}"
    options = set(re.findall(r"(?:option|set)\((DRIVERUPGRADE_\w+)", (ROOT / "CMakeLists.txt").read_text()))
    for option in set(re.findall(r"DRIVERUPGRADE_\w+", portfile)) - options:
        yield f"portfile.cmake: sets {option}, which CMakeLists.txt does not know"
    components = set(re.findall(r"driverupgrade_add_library\((\w+)", (ROOT / "src/CMakeLists.txt").read_text()))
    usage = (PORT / "usage").read_text()
    for component in set(re.findall(r"driverupgrade::(\w+)", usage)) - components:
        yield f"usage: names driverupgrade::{component}, which is no component"


def consumer_errors(port):
    title = CONSUMER.relative_to(ROOT)
    consumer = json.loads(CONSUMER.read_text())
    yield from schema_errors(title, consumer, required=["dependencies"])
    wanted = [d for d in consumer["dependencies"] if isinstance(d, dict) and d["name"] == port["name"]]
    for feature in {feature for d in wanted for feature in d.get("features", [])} - port["features"].keys():
        yield f"{title}: wants the feature {feature}, which the port does not have"
    if not wanted:
        yield f"{title}: does not want {port['name']}"


def main():
    header = (ROOT / "include/driverupgrade/version.h").read_text()
    version = re.search(r'DRIVERUPGRADE_VERSION_STRING "([^"]+)"', header).group(1)
    manifests = {title: json.loads(path.read_text()) for title, path in MANIFESTS.items()}
    errors = [error for title, manifest in manifests.items() for error in schema_errors(title, manifest)]
    if not errors:  # the other checks rely on the schema
        root, port = manifests.values()
        errors = [e for title, manifest in manifests.items() for e in manifest_errors(title, manifest, version)]
        errors += [*difference_errors(root, port), *port_errors(port), *consumer_errors(port)]
    for error in errors:
        print(f"vcpkg: {error}", file=sys.stderr)
    if not errors:
        print(f"vcpkg: both manifests are valid and of version {version} and fit the build")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
