#!/usr/bin/env bash
# Installs the dependencies, builds the library and a real Kubernetes control plane, and runs the end-to-end tests
# against it. The first run on a machine compiles Kubernetes, which takes several minutes: tests/controlplane/build.sh.
#
#   e2e.sh [--long|--short] [--kubernetes VERSION] [cpprest|curl]
#     --long     also runs hostile networks and outages, which take a few minutes longer
#     --short    runs only the tests that every version must pass: contract of the facade, permissions, admission policy, one rollout
#     VERSION    1.35, 1.36 or 1.37 (default: the newest)
#     cpprest    the HTTP library (default: the default of gpu_operator)
set -euo pipefail
cd "$(dirname "$0")/.."

tier=usual
version=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --long | --short) tier=${1#--} ;;
    --kubernetes) version=${2:?e2e.sh: --kubernetes needs a version} && shift ;;
    *) echo "e2e.sh: unknown option: $1" >&2; exit 2 ;;
  esac
  shift
done
case $tier in
  usual) selection=(--label-regex controlplane --label-exclude 'long|short') ;;
  long) selection=(--label-regex controlplane --label-exclude short) ;;
  short) selection=(--label-regex short) ;;
esac
case "${1:-}" in
  "" | cpprest | curl) export DRIVERUPGRADE_TRANSPORT="${1:-}" ;;
  *) echo "e2e.sh: unknown transport: $1" >&2; exit 2 ;;
esac
scripts/install-deps.sh
cmake --preset release
cmake --build --preset release
# Runs after the C++ build, because each build uses the whole machine.
DRIVERUPGRADE_CONTROLPLANE_BINARY=$(tests/controlplane/build.sh "$version")
export DRIVERUPGRADE_CONTROLPLANE_BINARY
if [[ $tier != short ]]; then
  eval "$(scripts/build-go.sh)"
  # Exit code 77: real nodes need root permissions, tools and modules. If any of these are missing, the tests of real
  # nodes are skipped.
  [ "$(id -u)" -ne 0 ] || scripts/install-deps.sh --node
  scripts/node.sh "$version" || [ $? -eq 77 ]
fi

# The tests print measurements, which only --verbose shows. Two groups run at a time, because each spends most of its
# time waiting.
ctest --preset release "${selection[@]}" --no-tests=error --output-on-failure --verbose --parallel 2
