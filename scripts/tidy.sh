#!/usr/bin/env bash
# Checks the library's sources with clang-tidy (.clang-tidy), and fails if it finds anything: tidy.sh [--deep] [REGEX].
# REGEX selects files (default: all of src/). --deep: with the static analyzer, which takes ten times as long.
set -euo pipefail
cd "$(dirname "$0")/.."

checks='-clang-analyzer-*'
if [ "${1:-}" = --deep ]; then
  checks=
  shift
fi
scripts/install-deps.sh --tidy
cmake --preset clang -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
found=build/clang/tidy.log
run-clang-tidy-14 -quiet -p build/clang -j "$(nproc)" ${checks:+-checks="$checks"} "${1:-$PWD/src/}" >"$found" 2>build/clang/tidy.err ||
  { tail -n 40 build/clang/tidy.err >&2; exit 1; }
if grep -E '(warning|error):' "$found" | sort -u; then
  echo "tidy: see $found" >&2
  exit 1
fi
echo "tidy: nothing found"
