#!/usr/bin/env bash
# Installs what is needed, builds the library and a real Kubernetes control plane, and runs the end-to-end tests
# against it. The first run on a machine compiles Kubernetes, which takes several minutes; see
# tests/controlplane/build.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset release
cmake --build --preset release
# After the C++ build, not beside it: each of them wants the whole machine.
DRIVERUPGRADE_CONTROLPLANE_BINARY=$(tests/controlplane/build.sh)
export DRIVERUPGRADE_CONTROLPLANE_BINARY

# Verbose, because the tests print figures.
ctest --preset release --label-regex controlplane --no-tests=error --output-on-failure --verbose
