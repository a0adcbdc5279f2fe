#!/usr/bin/env bash
# The Go module: its tests with nothing but Go, a build for arm64, and a comparison with the library whose names the module
# has (go/compat). `--plans FILE`: with the plans of all scenarios that scenario_plans has written. With a C compiler: `--race` runs the
# tests under the race detector, too, and `--cgo FOLDER` with the C library that is in FOLDER.
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

# What an operator's first build pays for the engine: seconds of the processor, with an empty cache. 60 are aimed at; a busy machine counts
# twice as many, so that there is a warning only, and far above.
compile_max=240
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
TIMEFORMAT='%U %S'
# With any other locale the times may have a comma.
read -r user system < <(export LC_ALL=C; { time GOCACHE=$cache "$go" build ./internal/wasm; } 2>&1 | tail -n 1)
rm -rf "$cache"
compiled=$((${user%.*} + ${system%.*}))
echo "go: the engine compiles in $compiled s of the processor" >&2
((compiled <= compile_max)) || echo "go: warning: that is above $compile_max s" >&2

# The translation of the WebAssembly has code that no path reaches.
for folder in . compat ../scripts/wasm; do
  (cd "$folder" && "$go" vet -unreachable=false ./... && "$go" test -timeout 30m ./...)
done
# Parts of one state keep to their own budgets, whatever becomes of driver pods: with each of 1,000 seeds.
"$go" test -timeout 30m ./pkg/upgrade -run TestPartsOfOneState -seeds 1000
GOARCH=arm64 "$go" build ./...
export CGO_ENABLED=1
while (($# > 0)); do
  case $1 in
    # Without the plans: they come from one thread.
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
