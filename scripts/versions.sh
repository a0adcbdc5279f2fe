#!/usr/bin/env bash
# Checks that operators of two versions can take over an upgrade in progress from each other, in both directions, on the
# control plane of scripts/e2e.sh: scripts/versions.sh COMMIT. COMMIT is the other version, as a git revision. The
# gpu_operator of that version is built in build/versions. This check is not part of .ci/run, which tests only one
# version.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ $# -eq 1 ]] || { echo "usage: scripts/versions.sh COMMIT" >&2; exit 2; }

other=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "versions.sh: the commit $1 does not exist" >&2; exit 2; }
scripts/install-deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target gpu_operator controlplane_tests
source=build/versions/$other
mkdir -p "$source"
git archive "$other" | tar -x -C "$source"
(cd "$source" && cmake --preset release >/dev/null && cmake --build --preset release --target gpu_operator)

DRIVERUPGRADE_CONTROLPLANE_BINARY=$(tests/controlplane/build.sh)
DRIVERUPGRADE_OTHER_GPU_OPERATOR=$PWD/$source/build/release/bin/gpu_operator
export DRIVERUPGRADE_CONTROLPLANE_BINARY DRIVERUPGRADE_OTHER_GPU_OPERATOR
cd build/release/tests/controlplane
../../bin/controlplane_tests "[versions]" --durations yes
