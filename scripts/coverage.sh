#!/usr/bin/env bash
# Measures which lines and branches of the library are covered by tests that need no control plane. Prints a table with
# one row for each file of src/ and include/. Takes a quarter of an hour. Branches that only exceptions take do not
# count, because our code does not throw.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh --coverage
cmake --preset coverage
cmake --build --preset coverage
find build/coverage -name '*.gcda' -delete
# Fewer seeds than in ctest, because this build is slow.
ctest --preset coverage --label-exclude 'controlplane|simulation' --parallel "$(nproc)"
build/coverage/bin/simulate --seeds 500 --jobs "$(nproc)"
gcovr --root . --object-directory build/coverage --filter src/ --filter include/ \
  --exclude-throw-branches --exclude-unreachable-branches --print-summary -j "$(nproc)" "$@"
