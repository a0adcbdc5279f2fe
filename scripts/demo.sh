#!/usr/bin/env bash
# Installs, builds and shows an upgrade on the fake cluster; a page with its timeline is build/demo.html. Arguments go to
# the demo: scripts/demo.sh --nodes 20
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target driverupgrade_demo
exec build/release/bin/driverupgrade_demo --timeline build/demo.html "$@"
