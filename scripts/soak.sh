#!/usr/bin/env bash
# Runs simulations with consecutive seeds.
#
#   scripts/soak.sh [--seeds N] [--first-seed S] [--jobs J] [more options of simulate]
#
# Prints each failing seed with the command that replays it, and the violations of the first ten failing seeds. Then
# prints the coverage, seeds and node upgrades per second, and `N passed, M failed`. Fails if any simulation failed.
# With --require-coverage, it also fails if a fault, a transition or a gate never occurred.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${PRESET:-release}
if [[ ! -f build/$preset/build.ninja ]]; then cmake --preset "$preset" >/dev/null; fi
cmake --build --preset "$preset" --target simulate >/dev/null

arguments=(--first-seed 1 --seeds 20000 --jobs "$(nproc)" --coverage)
commit=$(git rev-parse --short HEAD 2>/dev/null || true)
if [[ -n $commit ]]; then arguments+=(--commit "$commit"); fi
# Later options override earlier options.
exec "build/$preset/bin/simulate" "${arguments[@]}" "$@"
