#!/usr/bin/env bash
# The Go module: its tests with nothing but Go, a build for arm64, and a comparison with the library whose names the module
# has (go/compat). `scripts/go.sh --race` runs the tests under the race detector, too, which needs a C compiler.
set -euo pipefail
cd "$(dirname "$0")/../go"

# tests/controlplane/build.sh installs the last one where there is none.
for go in "$(command -v go || true)" /usr/local/go/bin/go "${XDG_CACHE_HOME:-$HOME/.cache}"/driverupgrade/go-*/bin/go; do
  if [[ -x $go ]]; then break; fi
done
[[ -x $go ]] || { echo "go: there is no Go toolchain here" >&2; exit 1; }

unformatted=$("$("$go" env GOROOT)/bin/gofmt" -l .)
[[ -z $unformatted ]] || { echo "go: not formatted: $unformatted" >&2; exit 1; }
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly
for folder in . compat; do
  (cd "$folder" && "$go" vet ./... && "$go" test ./...)
done
GOARCH=arm64 "$go" build ./...
if [[ ${1:-} == --race ]]; then CGO_ENABLED=1 "$go" test -race -short ./...; fi
