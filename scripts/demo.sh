#!/usr/bin/env bash
# Installs the dependencies, builds the demo, and shows an upgrade on the fake cluster. Writes the timeline of the
# upgrade to build/demo.html. The arguments are passed to the demo: scripts/demo.sh --nodes 20
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
echo "demo: configure"
cmake --preset release >/dev/null
scripts/progress.py "demo: build" cmake --build --preset release --target driverupgrade_demo
exec build/release/bin/driverupgrade_demo --timeline build/demo.html "$@"
