#!/usr/bin/env python3
"""Runs ninja or ctest, and shows the progress: progress.py NAME COMMAND...

Prints the number of completed steps, the time taken and, after a tenth of the steps, an estimate of the time left. On a
terminal, this is a single line that is redrawn; elsewhere, a line is printed after each tenth. All other output of the
command, such as warnings and failed tests, is passed on. Exits with the status of the command.
"""
import os
import re
import subprocess
import sys
import time

# Matches ninja's "[12/230] Building CXX object ..." and ctest's " 12/2077 Test #13: name .... Passed 0.01 sec".
STEP = re.compile(
    r"^\[(?P<built>\d+)/(?P<to_build>\d+)\] (?P<action>.*)|^ *(?P<run>\d+)/(?P<to_run>\d+) Test +#\d+: (?P<test>.*)")
QUIET = re.compile(r"^ +Start +\d+: |^Test project |^ninja: no work to do")


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Progress:
    def __init__(self, name, out):
        self.name, self.out, self.redraw = name, out, out.isatty()
        self.began, self.total, self.tenth, self.drawn = time.monotonic(), 0, 0, False

    def write(self, text):
        """Passes on a line of the command's output."""
        if self.drawn:
            self.out.write("\r\x1b[K")
            self.drawn = False
        self.out.write(text + "\n")
        self.out.flush()

    def describe(self, done, total, what):
        taken = time.monotonic() - self.began
        left = f", about {clock(taken / done * (total - done))} left" if total > done >= total / 10 else ""
        return f"{self.name}: {done} of {total}, {clock(taken)}{left}" + (f": {what}" if what else "")

    def step(self, done, total, what):
        if total != self.total:  # ninja first checks whether the build files themselves are up to date
            self.total, self.tenth = total, 0
        if self.redraw:
            columns = os.get_terminal_size(self.out.fileno()).columns
            self.out.write("\r\x1b[K" + self.describe(done, total, what)[:max(columns - 1, 1)])
            self.out.flush()
            self.drawn = True
        elif done * 10 // total > self.tenth or done == total:
            self.tenth = done * 10 // total
            self.write(self.describe(done, total, ""))

    def take(self, line):
        """Shows a step of the command as progress, and passes on any other line of its output."""
        found = STEP.match(line)
        if found is None:
            if not QUIET.match(line):
                self.write(line)
            return
        if found["to_build"]:
            self.step(int(found["built"]), int(found["to_build"]), found["action"])
            return
        if not re.search(r"\bPassed +\d", found["test"]):
            self.write(line)
        self.step(int(found["run"]), int(found["to_run"]), found["test"].split(" ..")[0])

    def end(self):
        if self.drawn:
            self.out.write("\n")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    progress = Progress(sys.argv[1], sys.stdout)
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    with subprocess.Popen(sys.argv[2:], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as command:
        for line in command.stdout:
            progress.take(line.rstrip("\n"))
    progress.end()
    sys.exit(command.returncode)


main()
