#!/usr/bin/env bash
# Installs what is needed, builds the library and a real Kubernetes control plane, and runs the end-to-end tests
# against it. The first run on a machine compiles Kubernetes, which takes several minutes; see
# tests/controlplane/build.sh.
#   e2e.sh [--long] [cpprest|curl]: with that HTTP library; with gpu_operator's default if none is named. --long: hostile
#   networks and outages, too, which take some minutes more.
set -euo pipefail
cd "$(dirname "$0")/.."

selection=(--label-regex controlplane --label-exclude long)
if [ "${1:-}" = --long ]; then
  selection=(--label-regex controlplane)
  shift
fi
case "${1:-}" in
  "" | cpprest | curl) export DRIVERUPGRADE_TRANSPORT="${1:-}" ;;
  *) echo "e2e.sh: unknown transport: $1" >&2; exit 2 ;;
esac
scripts/install-deps.sh
cmake --preset release
cmake --build --preset release
# After the C++ build, not beside it: each of them wants the whole machine.
DRIVERUPGRADE_CONTROLPLANE_BINARY=$(tests/controlplane/build.sh)
export DRIVERUPGRADE_CONTROLPLANE_BINARY
eval "$(scripts/build-go.sh)"
# 77: without root's rights, tools or modules there is no real node, and its group is skipped.
[ "$(id -u)" -ne 0 ] || scripts/install-deps.sh --node
scripts/node.sh || [ $? -eq 77 ]

# Verbose, because the tests print figures. Two groups at a time: each waits most of the time.
ctest --preset release "${selection[@]}" --no-tests=error --output-on-failure --verbose --parallel 2
