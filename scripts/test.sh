#!/usr/bin/env bash
# Installs the dependencies, builds, and tests. Further arguments are passed to ctest: scripts/test.sh -R Step
#
#   scripts/test.sh          quick: unit tests, scenarios, field cases, contract, documentation, 200 seeds of the simulation
#   scripts/test.sh --full   every test that needs no control plane; CI runs this tier
#   scripts/test.sh --long   the full tests, then 20,000 seeds, the build of the Go module's WebAssembly, sanitizers, fuzzers, planted
#                            defects and hostile networks: hours
set -euo pipefail
cd "$(dirname "$0")/.."

tier=quick
case ${1:-} in
  --full | --long) tier=${1#--} && shift ;;
esac

say() { echo "test: $*"; }

# build_and_test [TARGET...]: builds the preset `release`, or only these targets, and runs the tests.
build_and_test() {
  say "configure"
  cmake --preset release >/dev/null
  scripts/progress.py "test: build" cmake --build --preset release "${targets[@]}"
  scripts/progress.py "test: run" ctest --preset release "${selection[@]}" --no-tests=error --parallel "$(nproc)" "$@"
}

# Runs the steps that take hours, in sequence; the first failure ends the run.
run_long() {
  say "20,000 seeds" && scripts/soak.sh --require-coverage
  # Exit code 77: PyPI or Debian's sources cannot be reached from this machine.
  say "WebAssembly of the Go module" && { scripts/build-wasm.sh --reproduce || [ $? -eq 77 ]; }
  say "planted defects" && scripts/planted.sh
  say "fuzzers" && scripts/fuzz.sh --seconds 300
  local preset
  for preset in asan-ubsan tsan; do
    say "$preset" && cmake --preset "$preset" >/dev/null
    scripts/progress.py "test: build $preset" cmake --build --preset "$preset"
    ctest --preset "$preset" --label-exclude controlplane --parallel "$(nproc)"
  done
  local version
  for version in 1.37 1.36 1.35; do
    say "control plane of Kubernetes $version, with hostile networks and outages" && scripts/e2e.sh --long --kubernetes "$version"
  done
}

scripts/install-deps.sh
case $tier in
  quick) targets=(--target quick_tests) selection=(--label-regex '^quick$') ;;
  *) targets=() selection=(--label-exclude controlplane) ;;
esac
build_and_test "$@"
case $tier in
  quick)
    say "skipped: properties, crashes, exhaustive states, 2,500 seeds, the C interface and the operators: scripts/test.sh --full"
    say "skipped: seeds by the thousand, sanitizers, fuzzers, planted defects, hostile networks: scripts/test.sh --long"
    ;;
  full)
    say "skipped: a real control plane: scripts/e2e.sh; packages: scripts/packages.sh; the Go module: scripts/go.sh; all of CI: .ci/run"
    say "skipped: seeds by the thousand, sanitizers, fuzzers, planted defects, hostile networks: scripts/test.sh --long"
    ;;
  long)
    run_long
    say "skipped: packages: scripts/packages.sh; the Go module: scripts/go.sh; all of CI: .ci/run"
    ;;
esac
