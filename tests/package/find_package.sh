#!/usr/bin/env bash
# find_package.sh BUILD_DIR SOURCE_DIR: installs the build, moves the prefix, and builds and runs the quickstart from
# the moved prefix. Also builds consumers of the metrics, the service and the C interface if these components were
# built.
set -euo pipefail
build=$1 source=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/installed" >/dev/null
mv "$work/installed" "$work/moved"  # an absolute path in an installed file would break here
if grep -rlE "$work|$build" "$work/moved/lib" --include='*.cmake'; then
  echo "installed files name the build or the prefix" >&2
  exit 1
fi
test -f "$(find "$work/moved" -name LICENSE)"
find "$work/moved" -name operations.md | grep -q .

# The error for an unknown component must list the available components.
mkdir "$work/unknown"
printf '%s\n' 'cmake_minimum_required(VERSION 3.23)' 'project(unknown CXX)' \
  'find_package(driverupgrade CONFIG REQUIRED COMPONENTS core kubernets)' >"$work/unknown/CMakeLists.txt"
if cmake -G Ninja -S "$work/unknown" -B "$work/unknown/build" -DCMAKE_PREFIX_PATH="$work/moved" >"$work/unknown/log" 2>&1; then
  echo "a component that does not exist was found" >&2
  exit 1
fi
if ! tr -s '\n ' ' ' <"$work/unknown/log" | grep -q 'no component kubernets; it has core'; then
  cat "$work/unknown/log" >&2
  exit 1
fi
cmake -G Ninja -S "$source/examples/quickstart" -B "$work/quickstart" -DCMAKE_PREFIX_PATH="$work/moved" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >/dev/null
cmake --build "$work/quickstart"
"$work/quickstart/quickstart"

# run_consumer COMPONENT DIRECTORY: builds and runs a consumer in its own project, in which no other target has already
# found the consumer's dependencies.
run_consumer() {
  find "$work/moved" -name "driverupgrade-$1-targets.cmake" | grep -q . || return 0
  cmake -G Ninja -S "$source/tests/package/$2" -B "$work/$2" -DCMAKE_PREFIX_PATH="$work/moved" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >/dev/null
  cmake --build "$work/$2"
  "$work/$2/$2"
}
run_consumer prometheus metrics
run_consumer service service
run_consumer c c
