#!/usr/bin/env python3
"""Checks that the schemas of deploy/crds and the parser agree: both must accept each policy in the pages, and refuse each
policy in wrong_policies.txt. Only an API server evaluates the schemas' rules, so tests/controlplane tests all policies.

  crds.py UPGRADECTL
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = {
    "clusterpolicies": ("driver", "upgradePolicy"),
    "nvidiadrivers": ("upgradePolicy",),
    "nicclusterpolicies": ("ofedDriver", "upgradePolicy"),
    "nicnodepolicies": ("ofedDriver", "upgradePolicy"),
}
EMPTY_DUMP = '{"kind":"List","items":[]}'

def wrong(by):
    lines = (ROOT / "tests/deploy/wrong_policies.txt").read_text().splitlines()
    return [line.removeprefix(by + " ") for line in lines if line.startswith(by + " ")]


def schema_of(name):
    definition = yaml.safe_load((ROOT / f"deploy/crds/{name}.yaml").read_text())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for part in SECTIONS[name]:
        schema = schema["properties"][part]
    return schema


def policies_of_pages():
    """Returns the examples of docs/policy.md, except those with mistakes: the block below such an example lists the mistakes."""
    right = []
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "docs/policy.md").read_text(), re.M | re.S)
    for (language, text), following in zip(blocks, blocks[1:] + [("sh", "")]):
        if language == "yaml" and following[0]:
            right.append(text)
    return right


def without_nulls(value):
    """Returns the value without nulls, as the API server stores it."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def schema_takes(schema, policy):
    return jsonschema.Draft7Validator(schema).is_valid(without_nulls(yaml.safe_load(policy)))


def parser_takes(upgradectl, policy):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(policy)
        file.flush()
        command = [upgradectl, "plan", "--cluster", "-", "--policy", file.name]
        return subprocess.run(command, input=EMPTY_DUMP, text=True, capture_output=True).returncode != 2


def mistakes(upgradectl):
    schemas = {name: schema_of(name) for name in SECTIONS}
    right = policies_of_pages()
    if len(right) < 8:
        yield f"the pages have {len(right)} policies, which is too few"
    for policy in right:
        if not parser_takes(upgradectl, policy):
            yield f"the parser refuses:\n{policy}"
        yield from (f"{name} refuses:\n{policy}" for name, schema in schemas.items() if not schema_takes(schema, policy))
    for policy in wrong("schema"):
        yield from (f"{name} takes: {policy}" for name, schema in schemas.items() if schema_takes(schema, policy))
    for policy in wrong("schema") + wrong("rules"):
        if parser_takes(upgradectl, policy):
            yield f"the parser takes: {policy}"


def main():
    found = list(mistakes(sys.argv[1]))
    print("\n".join(found) or f"{len(policies_of_pages())} policies are taken, {len(wrong('schema'))} and {len(wrong('rules'))} refused")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
