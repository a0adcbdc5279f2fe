#!/usr/bin/env python3
"""undefined_symbols.py NM ARCHIVE: fails if the archive needs a symbol that a host without threads, exceptions, files,
clock, environment or YAML lacks. Needs only Python's standard library."""
import re
import subprocess
import sys

FORBIDDEN = {
    "threads": r"pthread_|std::(this_)?thread|std::(__)?stop_|std::condition_variable|std::(recursive_)?mutex|absl::.*Mutex",
    "exceptions": r"__cxa_throw$|__cxa_allocate_exception$",
    "files": r"f?open(64)?$|creat(64)?$|std::basic_(i|o)?f(stream|ilebuf)|std::filesystem",
    "output": r"f?printf$|v?fprintf$|f?puts$|std::(cout|cerr|clog)",
    "the environment": r"(secure_)?getenv$|environ$",
    "the clock": r"clock_gettime$|gettimeofday$|time$|absl::(\w+::)?(Now|GetCurrentTimeNanos|LocalTimeZone|LoadTimeZone)\b|std::chrono::\w+_clock::now",
    "randomness": r"getrandom$|s?rand(om)?$|std::random_device",
    "sockets": r"socket$|connect$",
    "YAML": r"YAML::",
}
# Symbols that match a forbidden pattern but are harmless, with the reasons.
ALLOWED = {
    # Standard library containers catch exceptions, roll back, and rethrow; these symbols do not create exceptions.
    "__cxa_begin_catch", "__cxa_end_catch", "__cxa_rethrow",
    # Only read, to decide whether shared pointers use atomic counters.
    "__libc_single_threaded",
}


def symbols(nm, archive):
    """Returns (undefined, defined) of all members together, demangled."""
    undefined, defined = set(), set()
    for line in subprocess.run([nm, "-C", archive], check=True, capture_output=True, text=True).stdout.splitlines():
        found = re.match(r"[0-9a-f ]{16} ([A-Za-z]) (.*)", line)
        if found:
            (undefined if found[1] == "U" else defined).add(found[2])
    return undefined - defined, defined


def main():
    undefined, defined = symbols(*sys.argv[1:])
    mistakes = []
    for what, pattern in FORBIDDEN.items():
        needed = sorted(s for s in undefined - ALLOWED if re.match(rf"(vtable for |typeinfo for )?({pattern})", s))
        mistakes += [f"needs {what}: {symbol}" for symbol in needed]
    # The archive must be complete: it must contain all of our symbols that it needs.
    mistakes += [f"is not in the archive: {symbol}" for symbol in sorted(undefined) if "driverupgrade::" in symbol]
    if not any("driverupgrade::StateMachine::Step" in symbol for symbol in defined):
        mistakes.append("it has no StateMachine::Step: is this the archive?")
    if mistakes:
        sys.exit("\n".join(mistakes))
    print(f"{len(undefined)} undefined symbols, none of them forbidden")


if __name__ == "__main__":
    main()
