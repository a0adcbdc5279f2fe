#!/usr/bin/env bash
# Installs, builds and measures: rollouts of gpu_operator, of the Go module and of the Go library beside the least that a
# cluster allows, on a real control plane.
# Takes an hour or so on two cores; with --quick a minute or two. Arguments go to rollout_bench: see bench/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh >&2
cmake --preset release >&2
cmake --build --preset release --target rollout_bench >&2
# After the C++ build, not beside it: each of them wants the whole machine.
DRIVERUPGRADE_CONTROLPLANE_BINARY=$(tests/controlplane/build.sh)
export DRIVERUPGRADE_CONTROLPLANE_BINARY

eval "$(scripts/build-go.sh)"
exec build/release/bin/rollout_bench --go-operator "$DRIVERUPGRADE_GO_OPERATOR" --go-library "$DRIVERUPGRADE_GO_LIBRARY" "$@"
