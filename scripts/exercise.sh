#!/usr/bin/env bash
# Starts one of the broken rollouts of docs/on-call-exercise.md on a real control plane: scripts/exercise.sh NUMBER
set -euo pipefail
cd "$(dirname "$0")/.."

number=${1:-}
if ! [[ $number =~ ^[1-5]$ ]]; then
  echo "usage: scripts/exercise.sh NUMBER, from 1 to 5 (docs/on-call-exercise.md)" >&2
  exit 2
fi
echo "exercise: building missing programs, which takes minutes the first time" >&2
DRIVERUPGRADE_CONTROLPLANE_BINARY=$(tests/controlplane/build.sh)
export DRIVERUPGRADE_CONTROLPLANE_BINARY DRIVERUPGRADE_EXERCISE=1
if [[ ! -f build/release/build.ninja ]]; then cmake --preset release >/dev/null; fi
cmake --build --preset release --target controlplane_tests gpu_operator upgradectl >/dev/null
exec build/release/bin/controlplane_tests "[exercise-$number]"
