#!/usr/bin/env bash
# The Go module: tests with nothing but Go, a build for arm64, the race detector where there is a C compiler, and a
# comparison with the library whose names the module has (go/compat).
set -euo pipefail
cd "$(dirname "$0")/../go"

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "go: not formatted: $unformatted" >&2; exit 1; }
for folder in . compat; do
  (cd "$folder" && CGO_ENABLED=0 go vet ./... && CGO_ENABLED=0 go test ./...)
done
GOARCH=arm64 CGO_ENABLED=0 go build ./...
if command -v cc >/dev/null; then
  CGO_ENABLED=1 go test -race -short ./...
else
  echo "go: no C compiler, so the race detector is left out"
fi
