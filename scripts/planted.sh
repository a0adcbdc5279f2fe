#!/usr/bin/env bash
# Defects planted in the engine's own code are found by the tests: tests/planted/README.md.
#   scripts/planted.sh          each is still found, by the quickest of the tests that found it
#   scripts/planted.sh --renew  after a change of the simulation: looks for seeds where those of the page find nothing any more
#   scripts/planted.sh --all    every suite with every defect, and the page: some hours; goes on from where it was stopped
# More options go to tests/planted/run.py, as in: scripts/planted.sh --all --fresh --minutes 60 --suites simulation
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${PRESET:-planted}
if [[ ! -f build/$preset/build.ninja ]]; then cmake --preset "$preset" >/dev/null; fi
cmake --build --preset "$preset" --target planted_programs >/dev/null
case ${1:-} in
  --all) command=fill ;;
  --renew) command=renew ;;
  *) exec ctest --preset "$preset" --label-regex planted "$@" ;;
esac
shift
tests/planted/run.py $command --bin "build/$preset/bin" --jobs "$(nproc)" "$@"
tests/planted/page.py
