#!/usr/bin/env bash
# Builds the Go programs for the end-to-end tests and the benchmark: the example operators of the Go module, and a
# program that uses the Go library (bench/peer). Prints their paths as shell assignments.
set -euo pipefail
cd "$(dirname "$0")/.."

go=$(scripts/find-go.sh)
export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=readonly
# build VARIABLE NAME MODULE PACKAGE
build() {
  (cd "$3" && "$go" build -o "$OLDPWD/build/go/$2" "$4") >&2
  echo "export $1=$PWD/build/go/$2"
}
build DRIVERUPGRADE_GO_OPERATOR operator go ./examples/operator
build DRIVERUPGRADE_GO_VENDOR vendor go ./examples/vendor
build DRIVERUPGRADE_GO_LIBRARY library bench/peer .
