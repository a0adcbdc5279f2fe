"""Runs one test suite with one planted defect, until its first failure."""
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Order of preference among suites that find a defect equally fast.
SUITES = ["scenarios", "unit", "contract", "c", "exhaustive", "property", "crash", "simulation"]
SEEDS = 2500
# Timeouts in seconds, well above the durations without a defect. A suite that takes longer counts as hanging.
TIMEOUT = {"scenarios": 60, "unit": 240, "contract": 60, "c": 300, "exhaustive": 240, "property": 240, "crash": 240, "simulation": 1200}
# Timeout in seconds for a single test, scenario or seed.
TIMEOUT_OF_ONE = 60


# Suites whose programs do not process bytes.
WITHOUT_BYTES = {"scenarios", "exhaustive", "property", "crash"}
# Suites whose programs contain the C interface.
WITH_HOST = {"c", "simulation"}
C_INTERFACE = "c.interface"  # a program in C, with one test


def is_of_host(source):
    return source.startswith(("src/c/", "src/embed/"))


def runs(suite, source):
    """Returns whether the suite's program contains code of this file."""
    if is_of_host(source):
        return suite in WITH_HOST
    return suite not in WITHOUT_BYTES or not source.startswith(("src/wire/", "src/kubernetes/"))


@dataclasses.dataclass
class Finding:
    """`test`: the test, scenario or seed that failed; empty if all passed."""

    test: str
    seconds: float
    tried: int = 0  # number of seeds


def run(command, defect, timeout):
    """Returns the exit code, or None after the timeout; the output; and the seconds."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=os.environ | {"DRIVERUPGRADE_PLANTED": defect})
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
            process.send_signal(signal.SIGTERM)  # makes Catch2 print the current test
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        output.seek(0)
        return code, output.read(), time.monotonic() - began


def unescaped(text):
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        text = text.replace(entity, character)
    return text


def run_catch(program, defect, test):
    selected = [re.sub(r'([\\,\[\]"])', r"\\\1", test)] if test else []
    code, output, seconds = run([program, "--abort", "--reporter", "xml", "--durations", "yes", *selected], defect,
                                TIMEOUT_OF_ONE if test else TIMEOUT[program.name.removeprefix("planted_")])
    if code == 0:
        return Finding("", seconds)
    names = re.findall(r'<TestCase name="(.*?)"', output)
    took = re.findall(r'<OverallResult success="false" durationInSeconds="([0-9.e+-]+)"', output)
    if test and not names:
        raise SystemExit(f"{program}: there is no test `{test}`\n{output}")
    return Finding(unescaped(names[-1]) if names else "?", float(took[-1]) if took else seconds)


def run_scenarios(program, defect, test):
    folder = ROOT / "tests/scenarios"
    files = [folder / f"{test}.txt"] if test else sorted(folder.glob("[!C]*.txt"))
    code, output, seconds = run([program, "--until-failure", *files], defect, TIMEOUT["scenarios"])
    if code == 0:
        return Finding("", seconds)
    failed = re.search(r"/tests/scenarios/(\w+)\.txt:\d+: ", output)
    return Finding(failed.group(1) if failed else "?", seconds / len(files))


def run_c(bin_folder, defect, test):
    if test in ("", C_INTERFACE):
        code, _, seconds = run([bin_folder / "planted_c_interface", ROOT / "tests/tools/upgradectl/testdata"], defect, TIMEOUT_OF_ONE)
        if code != 0 or test:
            return Finding(C_INTERFACE if code != 0 else "", seconds)
    return run_catch(bin_folder / "planted_c", defect, test)


def run_seeds(program, defect, source, first, last, timeout):
    host = ["--c-interface"] if is_of_host(source) else []
    return run([program, "--first-seed", str(first), "--seeds", str(last - first + 1), "--jobs", "1", "--until-failure", *host],
               defect, timeout)


def seed_of_crash(program, defect, source, first, last):
    """Returns the first seed with which the program crashes. At least one of these seeds must make it crash."""
    while first < last:
        middle = (first + last) // 2
        code, _, _ = run_seeds(program, defect, source, first, middle, TIMEOUT["simulation"])
        first, last = (first, middle) if is_crash(code) else (middle + 1, last)
    return first


def is_crash(code):
    return code is not None and code < 0


def run_simulation(program, defect, source, test, seeds, tried):
    first, last = (int(test), int(test)) if test else (tried + 1, seeds)
    code, output, seconds = run_seeds(program, defect, source, first, last, TIMEOUT_OF_ONE if test else TIMEOUT["simulation"])
    if code == 0:
        return Finding("", seconds, tried=last)
    failed = re.search(r"^seed (\d+): (\w+)", output, re.MULTILINE)
    if failed:
        return Finding(f"{failed.group(1)} {failed.group(2)}", 0.1)
    if is_crash(code):
        return Finding(f"{seed_of_crash(program, defect, source, first, last)} crash", 0.1)
    return Finding("?", seconds)  # a run that hangs does not reveal its seed


def asked(bin_folder, suite):
    """Returns the defects whose code the suite runs while all defects are off. Other defects cannot affect the suite."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "asked"
        programs = [bin_folder / f"planted_{suite}"]
        commands = {"scenarios": [[*programs, *sorted((ROOT / "tests/scenarios").glob("[!C]*.txt"))]],
                    "c": [[bin_folder / "planted_c_interface", ROOT / "tests/tools/upgradectl/testdata"], programs]}
        for command in commands.get(suite, [programs]):
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                           env=os.environ | {"DRIVERUPGRADE_PLANTED_ASKED": str(file)})
        return set(file.read_text().split()) if file.exists() else set()


def find(bin_folder, suite, defect, source="", test="", seeds=SEEDS, tried=0):
    """Returns the first test of the suite that fails with the defect, which is in `source`; runs only `test` if it is given."""
    if suite == "simulation":
        return run_simulation(bin_folder / "planted_simulate", defect, source, test.split(" ")[0], seeds, tried)
    if suite == "c":
        return run_c(bin_folder, defect, test)
    program = bin_folder / f"planted_{suite}"
    return run_scenarios(program, defect, test) if suite == "scenarios" else run_catch(program, defect, test)
