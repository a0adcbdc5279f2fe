#!/usr/bin/env python3
"""Draws who includes whom in include/ and src/, by layer, into docs/architecture.md. Fails if an include goes against
the arrows, or a file has no layer. Needs nothing but Python's standard library.

  include_graph.py            writes the drawing
  include_graph.py --check    writes nothing, and fails if the page has another drawing
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- written by scripts/include_graph.py -->\n```mermaid\n", "```\n"

# What each layer is called in the drawing, and its files: of a header and its source the name without an ending, below
# include/driverupgrade or src. A name that ends with `/` is all of a folder that is not named itself.
LAYERS = {
    "vocabulary": (
        "vocabulary",
        "cluster_types cluster_writes cordon_names driver_identity label_selector policy_codec upgrade_policy upgrade_state version "
        "internal/backoff internal/collection internal/cordon internal/label_syntax internal/lru_map internal/node_state "
        "internal/policy_section internal/quote internal/rapidjson internal/signal internal/status_macros "
        "internal/task_runner internal/unreadable internal/worker_pool internal/yaml_document",
    ),
    "sees": ("what Step sees", "attempt_log cluster_snapshot finding gate"),
    "says": ("what Step says", "admission admission_grants internal/admission_queue plan upgrade_budget"),
    "managers": (
        "managers",
        "drain_manager maintenance_requestor pod_manager revision_comparison safe_load_manager validation_manager",
    ),
    "decides": ("Step", "incremental_planner internal/step_parts state_machine transitions/"),
    "seam": ("the seam", "call_context clock cluster_facade forwarding_facade watch"),
    "ring": (
        "the ring: reads, writes, tells",
        "admission_ledger internal/event_correlator internal/event_message internal/event_writer internal/finding_events internal/gate_memory "
        "internal/hook_runner internal/ledger_pass internal/node_requests internal/node_times internal/packed_pod internal/refusal_event "
        "internal/view_maker internal/watch_follower internal/watch_store internal/watch_store_reads leader_election "
        "log_sink metrics_snapshot observer plan_executor request_meter snapshot_builder watch_cache",
    ),
    "engine": ("engine: one pass", "internal/incremental_pass upgrade_engine"),
    "controller": ("controller: pass after pass", "upgrade_controller"),
    "wire": ("wire", "wire/"),
    "kubernetes": ("kubernetes, transports", "kubernetes/"),
    "prometheus": ("prometheus", "prometheus/"),
    "service": ("service: an operator's main loop", "service/"),
    "testing": ("testing", "testing/"),
}

# Which other layers each may include. All may include the vocabulary.
MAY_INCLUDE = {
    "vocabulary": "",
    "sees": "",
    "says": "sees",
    "managers": "sees",
    "decides": "sees says managers",
    "seam": "",
    "ring": "sees says managers seam",
    "engine": "decides seam ring",
    "controller": "seam ring engine",
    "wire": "seam",
    "kubernetes": "seam ring wire",
    "prometheus": "ring",
    "service": "sees says decides seam ring engine controller prometheus",
    "testing": "sees says managers decides seam ring engine controller wire",
}

# Includes that go against the arrows, and why they may.
EXCEPTIONS = {}


def name_of(path):
    """The name by which LAYERS has a file or an include; None if it is none of ours."""
    text = path.removeprefix("include/driverupgrade/").removeprefix("driverupgrade/").removeprefix("src/")
    name = text.rsplit(".", 1)[0]
    return None if name == "abseil_abi" else name


def layer_of(name):
    for layer, (_, files) in LAYERS.items():
        names = files.split()
        if name in names or name.split("/")[0] + "/" in names:
            return layer
    return None


def includes():
    """(file, name, name of what it includes), of everything in include/ and src/."""
    for folder in ("include", "src"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            file = str(path.relative_to(ROOT))
            for include in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
                if not (ROOT / "include" / include).exists() and not (ROOT / "src" / include).exists():
                    continue  # a library's, or one that the build makes
                yield file, name_of(file), name_of(include)


def look():
    """The arrows between layers, the mistakes, and the exceptions that were come by."""
    arrows, mistakes, used = set(), [], set()
    for file, name, included in includes():
        own, other = layer_of(name), layer_of(included)
        if own is None or other is None:
            mistakes.append(f"{file}: {name if own is None else included} has no layer")
        elif own == other or other == "vocabulary":
            continue
        elif (name, included) in EXCEPTIONS:
            used.add((name, included))
        elif other in MAY_INCLUDE[own].split():
            arrows.add((own, other))
        else:
            mistakes.append(f"{file}: {own} may not include {included}, which is {other}")
    mistakes += [f"{name} does not include {included} any more" for name, included in EXCEPTIONS.keys() - used]
    return arrows, mistakes


def drawing(arrows):
    lines = ["flowchart TD"]
    lines += [f'  {layer}["{title}"]' for layer, (title, _) in LAYERS.items() if layer != "vocabulary"]
    order = list(LAYERS)
    for own, other in sorted(arrows, key=lambda arrow: (order.index(arrow[0]), order.index(arrow[1]))):
        lines.append(f"  {own} --> {other}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    arrows, mistakes = look()
    if mistakes:
        sys.exit("\n".join(mistakes))
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index(BEGIN) + len(BEGIN)
    drawn = text[:begin] + drawing(arrows) + text[text.index(END, begin) :]
    if not arguments.check:
        PAGE.write_text(drawn, encoding="utf-8")
    elif drawn != text:
        sys.exit("docs/architecture.md has another drawing than scripts/include_graph.py makes")


if __name__ == "__main__":
    main()
