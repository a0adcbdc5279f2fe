#!/usr/bin/env bash
# Compiles each source on its own with clang, and reports errors and warnings. In normal builds, batches and precompiled
# headers hide missing includes. scripts/packages.sh compiles each public header on its own.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh --fuzz
cmake --preset clang >/dev/null
commands=build/clang/compile_commands.json
python3 - "$commands" <<'PYTHON' | xargs -0 -P "$(nproc)" -n 1 bash -c
import json, re, sys

for entry in json.load(open(sys.argv[1])):
    command = re.sub(r" -o \S+ -c ", " -fsyntax-only ", entry["command"].replace("ccache ", ""), count=1)
    print(f"cd '{entry['directory']}' && {command}", end="\0")
PYTHON
echo "compile-alone: $(grep -c '"file"' "$commands") sources compile on their own"
