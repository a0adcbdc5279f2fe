#!/usr/bin/env python3
"""Installs the component `upgradectl`, and uses the installed files as a user would.

    installed.py CMAKE BUILD_FOLDER DUMP

Tries completion in each shell that is available.
"""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile


def expect(what, seen):
    assert seen, what


def output(command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def on_terminal(command, **environment):
    """Returns the command's output on a terminal."""
    inner, outer = pty.openpty()
    process = subprocess.Popen(command, stdin=outer, stdout=outer, stderr=outer,
                               env={**os.environ, "TERM": "xterm", **environment})
    os.close(outer)
    text = b""
    while True:
        try:
            chunk = os.read(inner, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        text += chunk
    os.close(inner)
    process.wait()
    return text.decode()


def check_program(root, dump):
    plugin = root / "bin/kubectl-driverupgrade"
    expect("the plugin is the program", plugin.is_symlink() and os.readlink(plugin) == "upgradectl")
    expect("the plugin runs", output([plugin, "--version"]) == output([root / "bin/upgradectl", "--version"]))

    status = [plugin, "status", "--cluster", dump, "--at", "2026-01-02T12:05:00Z"]
    os.environ.pop("NO_COLOR", None)
    expect("a terminal gets colours", "\x1b[31m" in on_terminal(status))
    expect("NO_COLOR takes them away, whatever its value", "\x1b[" not in on_terminal(status, NO_COLOR="0"))
    expect("an empty NO_COLOR does not", "\x1b[31m" in on_terminal(status, NO_COLOR=""))
    expect("nor has a dumb terminal any", "\x1b[" not in on_terminal(status, TERM="dumb"))
    piped = subprocess.run(status, stdout=subprocess.PIPE, text=True, check=False).stdout
    expect("a pipe gets none", "failed" in piped and "\x1b[" not in piped)


def check_manual(root):
    page = (root / "share/man/man1/upgradectl.1").read_text()
    expect(page[:80], page.startswith(".TH UPGRADECTL 1 "))
    expect("each verb has its part", all(f".SH {verb}\n" in page for verb in ("status", "explain", "approve")))
    if shutil.which("man"):
        shown = output(["man", "--warnings", "-l", root / "share/man/man1/upgradectl.1"], env={**os.environ, "MANPAGER": "cat"})
        expect(shown[:200], "SYNOPSIS" in shown)


def check_bash(root):
    script = root / "share/bash-completion/completions/upgradectl"

    def candidates(words):
        line = f"source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _upgradectl; " \
               'echo "${COMPREPLY[@]}"'
        return output(["bash", "-c", line]).split()

    expect("verbs", candidates("upgradectl st") == ["status"])
    expect("options of a verb", candidates("kubectl-driverupgrade simulate --dr") ==
           ["--driver", "--driver-labels", "--driver-start", "--driver-stop"])


def check_kubectl(root):
    script = root / "bin/kubectl_complete-driverupgrade"
    expect("verbs", output([script, "st"]) == "status\n:0\n")
    expect("all verbs", "explain\n" in output([script, ""]) and "explain\n" in output([script]))
    expect("options of a verb", output([script, "status", "gpu-7", "--wat"]) == "--watch\n:0\n")


def check_zsh(root):
    """Checks the autoloaded function for zsh, whose first call must complete words as well as define the function."""
    text = (root / "share/zsh/site-functions/_upgradectl").read_text()
    expect(text[:80], text.startswith("#compdef upgradectl kubectl-driverupgrade\n"))
    expect(text[-300:], '"$funcstack[1]" = "_upgradectl"' in text and '  _upgradectl "$@"\n' in text)
    if not shutil.which("zsh"):
        return
    line = f"""fpath=({root}/share/zsh/site-functions $fpath); autoload -U _upgradectl
compadd() {{ print -r -- "$@" }}; _files() {{ }}; words=(upgradectl st); CURRENT=2; _upgradectl"""
    expect("the first TAB", "status" in output(["zsh", "-f", "-c", line]).split())
    expect("the second TAB", output(["zsh", "-f", "-c", line + "; _upgradectl"]).split().count("status") == 2)


def check_fish(root):
    script = root / "share/fish/vendor_completions.d/upgradectl.fish"
    expect("verbs", "-a status " in script.read_text())
    if shutil.which("fish"):
        shown = output(["fish", "--no-config", "-c", f"source {script}; complete -C 'upgradectl st'"])
        expect(shown, shown.split()[0] == "status")


def main():
    cmake, build, dump = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        output([cmake, "--install", build, "--component", "upgradectl", "--prefix", root])
        check_program(root, dump)
        check_manual(root)
        check_bash(root)
        check_kubectl(root)
        check_zsh(root)
        check_fish(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
