#!/usr/bin/env bash
# Installs the dependencies, builds the programs, and measures rollouts with gpu_operator, the Go module and the Go
# library on a real control plane. Compares the rollouts with the minimum that a cluster allows. Takes about an hour on
# two cores; with --quick, one or two minutes. Passes its arguments to rollout_bench: see bench/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh >&2
cmake --preset release >&2
cmake --build --preset release --target rollout_bench >&2
# Runs after the C++ build, because each build uses the whole machine.
DRIVERUPGRADE_CONTROLPLANE_BINARY=$(tests/controlplane/build.sh)
export DRIVERUPGRADE_CONTROLPLANE_BINARY

eval "$(scripts/build-go.sh)"
exec build/release/bin/rollout_bench --go-operator "$DRIVERUPGRADE_GO_OPERATOR" --go-library "$DRIVERUPGRADE_GO_LIBRARY" "$@"
