#!/usr/bin/env python3
"""Writes deploy/prometheus/prometheus-rule.yaml, which is rules.yaml in the format of the Prometheus Operator. With --check,
only reports whether that file is up to date."""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "deploy/prometheus"
RULE = FOLDER / "prometheus-rule.yaml"
HEAD = """\
# Generated from rules.yaml by scripts/prometheus_rule.py. Do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: driver-upgrade}
spec:
"""


def rendered():
    lines = (FOLDER / "rules.yaml").read_text(encoding="utf-8").splitlines()
    body = lines[lines.index("groups:"):]
    return HEAD + "".join(f"  {line}\n" if line else "\n" for line in body)


def main():
    if "--check" not in sys.argv[1:]:
        RULE.write_text(rendered(), encoding="utf-8")
    elif RULE.read_text(encoding="utf-8") != rendered():
        sys.exit(f"{RULE} is out of date: run scripts/prometheus_rule.py")


if __name__ == "__main__":
    main()
