#!/usr/bin/env bash
# Tests the Go module without a C compiler, builds it for arm64, and compares it with the library whose API it provides
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

# Limit for the CPU seconds that an operator's first build, with an empty cache, spends on the engine. The target is 60
# seconds, but the build can take twice as long on a busy machine. The limit is therefore much higher, and exceeding it
# only causes a warning.
compile_max=240
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
TIMEFORMAT='%U %S'
# In other locales, the times may contain a decimal comma.
read -r user system < <(export LC_ALL=C; { time GOCACHE=$cache "$go" build ./internal/wasm; } 2>&1 | tail -n 1)
rm -rf "$cache"
compiled=$((${user%.*} + ${system%.*}))
echo "go: compiling the engine takes $compiled s of processor time" >&2
((compiled <= compile_max)) || echo "go: warning: that is above $compile_max s" >&2

# Disables the check for unreachable code, because the translated WebAssembly contains such code.
for folder in . compat ../scripts/wasm; do
  (cd "$folder" && "$go" vet -unreachable=false ./... && "$go" test -timeout 30m ./...)
done
# Checks, with 1,000 seeds, that each part of a ClusterUpgradeState stays within its own budget, whatever happens to
# driver pods.
"$go" test -timeout 30m ./pkg/upgrade -run TestPartsOfOneState -seeds 1000
GOARCH=arm64 "$go" build ./...
export CGO_ENABLED=1
while (($# > 0)); do
  case $1 in
    # Omits the comparison of plans, because it runs in a single thread.
    --race) DRIVERUPGRADE_PLANS='' "$go" test -timeout 30m -race -short ./... ;;
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
