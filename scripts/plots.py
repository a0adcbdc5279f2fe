#!/usr/bin/env python3
"""Draws the figures of docs/evidence.md and docs/policy.md. Needs only Python's standard library.

  plots.py                    writes docs/img/*.svg from docs/figures/*.csv
  plots.py --take FILE        before that, writes docs/figures/micro_bench.csv from what
                              micro_bench --benchmark_format=json has printed
  plots.py --check            writes nothing, and fails if a drawing does not match its figures
"""
import argparse
import csv
import html
import json
import math
import pathlib
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 96, 24, 88, 58
# The colors can be distinguished on white and on black, and the marks can be distinguished without colors.
COLOURS = ("#3b82f6", "#d97706", "#16a34a", "#a855f7", "#dc4c64")
STYLE = """text{font-family:sans-serif;font-size:13px;fill:#6e7781}
.title{font-size:15px;font-weight:bold}
.grid{stroke:#8b949e;stroke-opacity:.3}
.axis{stroke:#8b949e}
@media(prefers-color-scheme:dark){text{fill:#b1bac4}}"""


class Series:
    """A line of a drawing: `points` are (x, y); `line` is solid, dashed, or none for marks alone."""

    def __init__(self, name, points, line="solid"):
        self.name, self.points, self.line = name, sorted(points), line


class Scale:
    """A logarithmic axis from `low` to `high`, rounded to whole powers of ten, on pixels `begin` to `end`."""

    def __init__(self, values, begin, end, whole_decades=True):
        low, high = math.log10(min(values)), math.log10(max(values))
        margin = 0.06 * (high - low)
        self.low, self.high = (math.floor(low), math.ceil(high)) if whole_decades else (low - margin, high + margin)
        self.begin, self.end = begin, end

    def at(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def decades(self):
        return [10.0**power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]


def number(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def mark(index, x, y, colour):
    size = 5
    shapes = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size - 0.5}"',
        f'<rect x="{x - size + 1:.1f}" y="{y - size + 1:.1f}" width="{2 * size - 2}" height="{2 * size - 2}"',
        f'<path d="M{x:.1f} {y - size:.1f}l{size} {2 * size}h{-2 * size}z"',
        f'<path d="M{x:.1f} {y - size - 1:.1f}l{size + 1} {size + 1}l{-size - 1} {size + 1}l{-size - 1} {-size - 1}z"',
        f'<path d="M{x:.1f} {y + size:.1f}l{size} {-2 * size}h{-2 * size}z"',
    )
    return f'{shapes[index % len(shapes)]} fill="{colour}"/>'


def legend(series):
    parts, x, y = [], LEFT, 48
    for index, one in enumerate(series):
        width = 34 + 7.2 * len(one.name)
        if x + width > WIDTH - RIGHT:
            x, y = LEFT, y + 20
        parts.append(mark(index, x + 6, y - 4, COLOURS[index]))
        parts.append(f'<text x="{x + 18}" y="{y}">{html.escape(one.name)}</text>')
        x += width
    return parts


def axes(x_scale, y_scale, x_ticks, x_label, y_label):
    parts = []
    for value in y_scale.decades():
        y = y_scale.at(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number(value)}</text>')
    bottom = HEIGHT - BOTTOM
    for value in x_ticks:
        x = x_scale.at(value)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{number(value)}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{WIDTH - RIGHT}" y2="{bottom}"/>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{x_label}</text>')
    middle = (TOP + bottom) / 2
    parts.append(f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{y_label}</text>')
    return parts


def draw(title, x_label, y_label, series):
    """Returns an SVG of lines on two logarithmic axes."""
    xs = sorted({x for one in series for x, _ in one.points})
    ys = [y for one in series for _, y in one.points]
    x_scale = Scale(xs, LEFT, WIDTH - RIGHT, whole_decades=False)
    y_scale = Scale(ys, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="24">{html.escape(title)}</text>',
    ]
    parts += legend(series)
    parts += axes(x_scale, y_scale, xs, html.escape(x_label), html.escape(y_label))
    for index, one in enumerate(series):
        places = [(x_scale.at(x), y_scale.at(y)) for x, y in one.points]
        if one.line != "none":
            dashes = ' stroke-dasharray="6 5"' if one.line == "dashed" else ""
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{COLOURS[index]}" stroke-width="2"{dashes}/>'
            )
        parts += [mark(index, x, y, COLOURS[index]) for x, y in places]
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def rows(name):
    with open(DOCS / "figures" / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def decisions():
    found = {}
    for row in rows("micro_bench.csv"):
        found.setdefault(row["operation"], []).append((int(row["size"] or 0), float(row["microseconds"])))
    targets = [(int(row["size"]), float(row["microseconds"])) for row in rows("targets.csv")]
    return draw(
        "What one pass decides, by the size of the cluster",
        "nodes",
        "microseconds of a processor",
        [
            Series("Step, all nodes", found["Step"]),
            Series("target of Step", targets, line="none"),
            Series("one node has changed", found["JudgeOneOf"]),
            Series("lists of a pass without a cache", found["Snapshot"]),
        ],
    )


def rollouts():
    found = [(int(row["nodes"]), float(row["engine_seconds"])) for row in rows("scale_rollout.csv")]
    found.sort()
    nodes, seconds = found[0]
    return draw(
        "A whole rollout on the fake cluster",
        "nodes",
        "seconds in the engine",
        [
            Series("engine, with the fake cluster's answers", found),
            Series("in proportion to the smallest", [(n, seconds * n / nodes) for n, _ in found], line="dashed"),
        ],
    )


def requests():
    found = {}
    for row in rows("requests.csv"):
        found.setdefault((row["program"], row["at_a_time"]), []).append((int(row["nodes"]), float(row["requests_per_node"])))
    return draw(
        "Requests for each node of a rollout",
        "nodes",
        "requests per node",
        [
            Series("Go library, 10 at a time", found["Go library", "10"]),
            Series("gpu_operator, 10 at a time", found["gpu_operator", "10"]),
            Series("gpu_operator, all at once", found["gpu_operator", "all"]),
            Series("Go module, 10 at a time", found["Go module", "10"]),
            Series("limit, 10 at a time", found["limit", "10"], line="dashed"),
        ],
    )


CELL, GAP, NODES = 22, 6, 12


def cell(x, y, runs, upgrades):
    """Returns a node during a wave: filled if the job runs there, framed if the node's driver is upgraded."""
    inner = f'<rect x="{x + 4}" y="{y + 4}" width="{CELL - 8}" height="{CELL - 8}" fill="{COLOURS[0]}"/>'
    frame = f'<rect x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{CELL - 2}" fill="none" stroke="{COLOURS[1]}" stroke-width="2"/>'
    return ([inner] if runs else []) + ([frame] if upgrades else [])


def panel(left, top, order, waves):
    """Returns the panel of one order, with nodes as rows and waves as columns. The waves that interrupt the job are below."""
    column = CELL + 58
    bottom = top + NODES * (CELL + GAP)
    parts, interruptions = [], 0
    for node in range(1, NODES + 1):
        y = top + (node - 1) * (CELL + GAP)
        parts.append(f'<text x="{left - 10}" y="{y + 15}" text-anchor="end">n{node}</text>')
        parts.append(f'<line class="grid" x1="{left}" y1="{y + CELL / 2}" x2="{left + 3 * column + CELL}" y2="{y + CELL / 2}"/>')
    for index, (upgrades, job) in enumerate(waves):
        x = left + index * column
        parts.append(f'<text x="{x + CELL / 2}" y="{top - 8}" text-anchor="middle">{f"wave {index + 1}" if upgrades else "end"}</text>')
        for node in sorted(upgrades | job):
            parts += cell(x, top + (node - 1) * (CELL + GAP), node in job, node in upgrades)
        if upgrades & job:
            interruptions += 1
            parts.append(f'<text class="stop" x="{x + CELL / 2}" y="{bottom + 14}" text-anchor="middle">interrupted</text>')
    plural = "" if interruptions == 1 else "s"
    parts.append(f'<text class="title" x="{left}" y="{top - 30}">{order}: {interruptions} interruption{plural}</text>')
    return parts


def gangs():
    found = {}
    for row in rows("gangs.csv"):
        nodes = [{int(node) for node in row[member].split()} for member in ("upgrades", "job")]
        found.setdefault(row["order"], []).append(nodes)
    title = "A job on 4 of 12 nodes, of which 4 may be unavailable"
    width, height, top = 760, 468, 112
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{title}, by name and by gang</title>",
        f"<style>{STYLE}\n.stop{{fill:{COLOURS[4]}}}</style>",
        f'<text class="title" x="60" y="24">{title}</text>',
    ]
    for x, text, runs in ((60, "the job runs on the node", True), (280, "the driver of the node is upgraded", False)):
        parts += cell(x, 34, runs, not runs)
        parts.append(f'<text x="{x + CELL + 6}" y="50">{text}</text>')
    for index, (order, waves) in enumerate(found.items()):
        parts += panel(60 + index * 380, top, order, waves)
    return "\n".join([*parts, "</svg>"]) + "\n"


MADE = {
    "img/decisions.svg": decisions,
    "img/rollouts.svg": rollouts,
    "img/requests.svg": requests,
    "img/gangs.svg": gangs,
}


def take(path):
    """Writes the medians, or all runs if there were no repetitions, without the fields that identify the machine."""
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["benchmarks"]
    medians = [run for run in runs if run.get("aggregate_name") == "median"]
    with open(DOCS / "figures" / "micro_bench.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["operation", "size", "microseconds", "allocations"])
        for run in medians or runs:
            operation, _, size = run["run_name"].partition("/")
            microseconds = run["cpu_time"] * MICROSECONDS[run["time_unit"]]
            writer.writerow([operation, size, f"{float(f'{microseconds:.4g}'):.10g}", f"{run['allocations']:.0f}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", metavar="FILE", help="the output of micro_bench --benchmark_format=json")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if something is stale")
    arguments = parser.parse_args()
    if arguments.take:
        take(arguments.take)
    stale = []
    for name, make in MADE.items():
        path, text = DOCS / name, make()
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        sys.exit(f"not what scripts/plots.py draws from docs/figures: {', '.join(stale)}")


if __name__ == "__main__":
    main()
