#!/usr/bin/env bash
# Installs, builds and runs every test that needs no control plane. Arguments go to ctest: scripts/test.sh -R Step
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset release
cmake --build --preset release
ctest --preset release --label-exclude controlplane --parallel "$(nproc)" "$@"
