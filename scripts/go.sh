#!/usr/bin/env bash
# Tests the Go module without a C compiler, builds its operators for arm64, and compares it with the library whose API it provides
# (go/compat). With `--plans FILE`, also compares the plans of all scenarios with FILE, the output of scenario_plans.
# With a C compiler, `--race` also runs the tests under the race detector, and `--cgo DIRECTORY` tests with the C
# library in DIRECTORY.
set -euo pipefail
cd "$(dirname "$0")/../go"

go=$(../scripts/find-go.sh)
if [[ ${1:-} == --plans ]]; then
  DRIVERUPGRADE_PLANS=$(cd .. && realpath "$2")
  export DRIVERUPGRADE_PLANS
  shift 2
fi

unformatted=$("$("$go" env GOROOT)/bin/gofmt" -l .)
[[ -z $unformatted ]] || { echo "go: not formatted: $unformatted" >&2; exit 1; }
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly

# Disables the check for unreachable code, because the translated WebAssembly contains such code.
for folder in . compat ../scripts/wasm; do
  (cd "$folder" && "$go" vet -unreachable=false ./... && "$go" test -timeout 30m ./...)
done
# Checks, with 1,000 seeds, that each part of a ClusterUpgradeState stays within its own budget, whatever happens to
# driver pods.
"$go" test -timeout 30m ./pkg/upgrade -run TestPartsOfOneState -seeds 1000
# The what-if engine is translated in the same way, and its compilation takes minutes.
GOARCH=arm64 "$go" build ./pkg/upgrade ./examples/...
export CGO_ENABLED=1
while (($# > 0)); do
  case $1 in
    # Omits the what-if engine and the comparison of plans, because both run in a single thread.
    --race)
      mapfile -t threaded < <("$go" list ./... | grep -vE '/(forecast|whatif)$')
      DRIVERUPGRADE_PLANS='' "$go" test -timeout 30m -race -short "${threaded[@]}"
      ;;
    --cgo)
      library=$(cd .. && realpath "$2")
      CGO_CFLAGS="-I$PWD/../include" CGO_LDFLAGS="-L$library -Wl,-rpath,$library" \
        "$go" test -timeout 30m -tags driverupgrade_cgo ./pkg/... ./internal/...
      shift
      ;;
    *) echo "go.sh: unknown option: $1" >&2; exit 2 ;;
  esac
  shift
done
