#!/usr/bin/env bash
# Runs as many simulations as asked: scripts/soak.sh [--seeds N] [--first-seed S] [--jobs J] [more options of simulate]
# Prints each failing seed with the command that replays it, the first ten with what they broke, then the coverage, seeds and node upgrades
# per second, and `N passed, M failed`. Not zero if any failed, or, with --require-coverage, if a fault, a transition or a
# gate was not come by.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${PRESET:-release}
if [[ ! -f build/$preset/build.ninja ]]; then cmake --preset "$preset" >/dev/null; fi
cmake --build --preset "$preset" --target simulate >/dev/null

arguments=(--first-seed 1 --seeds 20000 --jobs "$(nproc)" --coverage)
commit=$(git rev-parse --short HEAD 2>/dev/null || true)
if [[ -n $commit ]]; then arguments+=(--commit "$commit"); fi
# What is given later wins.
exec "build/$preset/bin/simulate" "${arguments[@]}" "$@"
