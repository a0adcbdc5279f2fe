#!/usr/bin/env bash
# Checks that the tests find the defects planted in the engine's own code: tests/planted/README.md. scripts/test.sh --long runs this check.
#
#   scripts/planted.sh          runs, for each defect, the quickest test that found it
#   scripts/planted.sh --renew  searches for other seeds if the simulation has changed and too few seeds find their defects
#   scripts/planted.sh --all    runs every suite with every defect, and stores the results; takes hours, and can be resumed
#
# Further options are passed to tests/planted/run.py: scripts/planted.sh --all --fresh --minutes 60 --suites simulation
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
exec tests/planted/run.py $command --bin "build/$preset/bin" --jobs "$(nproc)" "$@"
