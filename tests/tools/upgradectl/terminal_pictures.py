#!/usr/bin/env python3
"""Draws and checks the output of upgradectl and of the demo on a terminal.

  terminal_pictures.py write UPGRADECTL        draws docs/img/upgradectl-*.svg again
  terminal_pictures.py check UPGRADECTL        fails if the pictures differ from the output of upgradectl
  terminal_pictures.py demo DEMO               fails if the demo's table is wider than 80 columns, or its page is missing
"""
import fcntl
import html
import os
import pathlib
import pty
import re
import struct
import sys
import tempfile
import termios

ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA = ROOT / "tests/tools/upgradectl/testdata"
OF_DUMP = ["--cluster", str(DATA / "trouble.json"), "--policy-resource",
           "nvidia.com/v1/clusterpolicies/cluster-policy:spec.driver.upgradePolicy", "--at", "2026-01-02T12:05:00Z"]
# Name, number of columns, and command-line arguments.
PICTURES = [
    ("status-80", 80, ["status"]),
    ("status-200", 200, ["status", "-o", "wide"]),
    ("explain-80", 80, ["explain", "budget"]),
]
COLOURS = {"1": 'font-weight="bold"', "31": 'fill="#ff7b72"', "32": 'fill="#7ee787"', "33": 'fill="#e3b341"', "36": 'fill="#79c0ff"'}
CHARACTER, LINE, EDGE = 7.8, 18, 14


def output_on_terminal(columns, command):
    """Returns the command's output on a terminal of this width."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.pop("NO_COLOR", None)
        os.environ["TERM"] = "xterm"
        # The child sets the size, because the parent might set it too late.
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(command[0], command)
    output = b""
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError:  # the command has exited
            break
        if not read:
            break
        output += read
    os.waitpid(pid, 0)
    return output.decode().replace("\r\n", "\n")


def widest(text):
    return max(len(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line)) for line in text.split("\n"))


def as_terminal_wraps(line, columns):
    """Splits the line into pieces of at most this width. A color continues in the next piece."""
    rows, used, style = [""], 0, ""
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b"):
            rows[-1], style = rows[-1] + piece, piece
            continue
        for character in piece:
            if used == columns:
                rows, used = rows + [style], 0
            rows[-1], used = rows[-1] + character, used + 1
    return rows


def line_as_svg(line, y):
    parts, style = [], ""
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if code:
            style = COLOURS.get(code.group(1), "")
        elif piece:
            text = html.escape(piece).replace(" ", "&#160;")  # browsers draw several spaces as one
            parts.append(f"<tspan {style}>{text}</tspan>" if style else text)
    return f'<text x="{EDGE}" y="{y}">{"".join(parts)}</text>' if parts else ""


def as_svg(typed, text, columns):
    lines = [f"$ upgradectl {' '.join(typed)}"]
    for line in text.rstrip("\n").split("\n"):
        lines += as_terminal_wraps(line, columns)
    width, height = round(columns * CHARACTER + 2 * EDGE), len(lines) * LINE + 2 * EDGE
    rows = [line_as_svg(line, EDGE + LINE * (number + 1) - 4) for number, line in enumerate(lines)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
        '<g font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="13" fill="#e6edf3">',
        *[row for row in rows if row], "</g>", "</svg>", ""])


def pictures(upgradectl):
    for name, columns, typed in PICTURES:
        text = output_on_terminal(columns, [upgradectl, *typed, *OF_DUMP])
        # A sentence may continue on the next line, but a table row must not.
        if typed[0] == "status" and widest(text) > columns:
            sys.exit(f"{name}: a line of {widest(text)} columns on a terminal of {columns}\n{text}")
        yield ROOT / f"docs/img/upgradectl-{name}.svg", as_svg(typed, text, columns)


def demo(program):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "demo.html"
        output = output_on_terminal(80, [program, "--speed", "0", "--timeline", str(page)])
        ends = f"States of each node over time: {page}\n"
        table = output[:output.rfind("nodes upgraded in")]
        if "6 of 6 done" not in output or not output.endswith(ends):
            sys.exit(f"the demo does not end as it should:\n{output[-2000:]}")
        if widest(table.split("rev-2.\n", 1)[1]) > 80:
            sys.exit(f"a line of {widest(table)} columns on a terminal of 80")
        if page.read_text().count('"node-6"') == 0:
            sys.exit("the page has no node-6")


def main():
    command, program = sys.argv[1:]
    if command == "demo":
        return demo(program)
    stale = [path for path, svg in pictures(program) if not path.exists() or path.read_text() != svg]
    if command == "check":
        if stale:
            sys.exit(f"{', '.join(path.name for path in stale)}: not what upgradectl shows; draw them anew by `write`")
        return None
    for path, svg in pictures(program):
        path.write_text(svg)
    return None


if __name__ == "__main__":
    main()
