#!/usr/bin/env python3
"""Writes the schemas of deploy/crds/policy-fields.yaml and upgrade-policy.yaml into the definitions next to these
files, between the marks. With --check, only reports whether the definitions are up to date."""
import pathlib
import re
import sys

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "deploy/crds"
BEGIN = "# Generated from policy-fields.yaml and upgrade-policy.yaml by scripts/crds.py. Do not edit.\n"
END = "# End of the generated fields.\n"
# Fields that the definitions of NVIDIA's operators also have, with the same defaults. autoUpgrade is above the marks.
GPU = ["maxParallelUpgrades", "maxUnavailable", "podDeletion", "waitForCompletion", "drain"]
NETWORK = ["maxParallelUpgrades", "safeLoad", "waitForCompletion", "drain"]
CLUSTER_POLICY = GPU[:3] + ["gpuPodDeletion"] + GPU[3:]
NVIDIA = {"clusterpolicies": CLUSTER_POLICY, "nvidiadrivers": GPU, "nicclusterpolicies": NETWORK, "nicnodepolicies": NETWORK}
SHARED = {"autoUpgrade", *CLUSTER_POLICY, *NETWORK}
GPU_POD_DELETION = "# The name of this field in Helm values and in NVIDIA's manual. Only one of the two may be set."
KEYS = ["type", "x-kubernetes-preserve-unknown-fields", "required", "maxItems", "description", "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys", "x-kubernetes-validations", "properties", "items"]


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False)


def load(name):
    return yaml.safe_load((FOLDER / name).read_text())


def merged(path, made, by_hand):
    """Returns the generated schema together with its parts that are written by hand."""
    if not made and not by_hand:
        sys.exit(f"crds: write the schema of {path} into upgrade-policy.yaml")
    if "properties" not in made.get("items", made):
        return {key: value for key, value in (made or by_hand).items() if key not in ("default", "networkDefault")}
    both = {**made, **by_hand}
    if "items" in made:
        both["items"] = merged(path + "[]", made["items"], by_hand.get("items", {}))
    else:
        hand = by_hand.get("properties", {})
        if unknown := hand.keys() - made["properties"].keys():
            sys.exit(f"crds: {path} of upgrade-policy.yaml has fields that no policy has: {', '.join(sorted(unknown))}")
        both["properties"] = {name: merged(f"{path}.{name}", of, hand.get(name, {})) for name, of in made["properties"].items()}
    return {key: both[key] for key in sorted(both, key=KEYS.index)}


def shared_lines(name, schema, network):
    """Returns the lines of a field that NVIDIA's definitions also have, in NVIDIA's style: without descriptions and string defaults."""
    if "properties" in schema:
        lines = [line for inner, of in schema["properties"].items() for line in shared_lines(inner, of, network)]
        return [name + ":", "  type: object", "  x-kubernetes-preserve-unknown-fields: true", "  properties:"] + ["    " + line for line in lines]
    kind = {key: schema[key] for key in ("type", "x-kubernetes-int-or-string", "enum") if key in schema}
    if kind.get("type") == "integer":
        kind["minimum"] = schema["minimum"]
    if kind.get("type") != "string":
        kind["default"] = schema.get("networkDefault", schema["default"]) if network else schema["default"]
    return [f"{name}: " + yaml.dump(kind, Dumper=Dumper, sort_keys=False, width=1000, default_flow_style=True).strip()]


def lines_of(definition, order):
    """Returns the fields that only this library has, in the order of the definition, and then NVIDIA's fields."""
    fields, by_hand = load("policy-fields.yaml"), load("upgrade-policy.yaml")
    fields["gpuPodDeletion"] = fields["podDeletion"]
    own = [name for name in fields if name not in SHARED]
    own.sort(key=lambda name: order.index(name) if name in order else len(order))
    schemas = {name: merged(name, fields[name], by_hand.get(name, {})) for name in own}
    lines = yaml.dump(schemas, Dumper=Dumper, sort_keys=False, width=1000).splitlines()
    for name in NVIDIA[definition]:
        lines += [GPU_POD_DELETION] if name == "gpuPodDeletion" else []
        lines += shared_lines(name, fields[name], NVIDIA[definition] is NETWORK)
    return lines


def rendered(definition, text):
    before, rest = text.split(BEGIN)
    made, after = rest.split(END)
    indent = before.rsplit("\n", 1)[1]
    lines = lines_of(definition, re.findall(rf"^{indent}(\w+):", made, re.M))
    return before + BEGIN + "".join(indent + line + "\n" for line in lines) + indent + END + after


def main():
    stale = []
    for name in NVIDIA:
        path = FOLDER / f"{name}.yaml"
        text = path.read_text()
        if text.count(BEGIN) != 1 or text.count(END) != 1:
            sys.exit(f"crds: {path.name} does not have the marks once")
        if rendered(name, text) == text:
            continue
        stale.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(rendered(name, text))
    if stale and "--check" in sys.argv:
        sys.exit(f"crds: not up to date, run scripts/crds.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
