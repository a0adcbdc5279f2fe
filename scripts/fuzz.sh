#!/usr/bin/env bash
# Builds the fuzz targets with clang and its sanitizers, and runs each of them.
#
#   fuzz.sh [--seconds 30] [--seed 1] [TARGET...]
#
# In a fresh clone, every run tries the same inputs in the same order until the time is up; --seed 0 selects other
# inputs. Failing inputs are stored in build/fuzz/found. After fixing a defect, add its input to tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=30 seed=1
targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds) seconds=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    -*) echo "usage: scripts/fuzz.sh [--seconds N] [--seed S] [TARGET...]" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
if [ ${#targets[@]} -eq 0 ]; then
  for folder in tests/fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi

scripts/install-deps.sh --fuzz
cmake --preset fuzz
# Builds the whole library, but none of the other tests.
cmake --build --preset fuzz --target src/all "${targets[@]/#/fuzz_}"

# fuzz TARGET: keeps new inputs in the build directory between runs.
fuzz() {
  local found=build/fuzz/found/$1 kept=build/fuzz/corpus/$1
  mkdir -p "$found" "$kept"
  if ! "build/fuzz/bin/fuzz_$1" "$kept" "tests/fuzz/corpus/$1" -max_total_time="$seconds" -seed="$seed" -timeout=25 -rss_limit_mb=2048 \
      -max_len=65536 -print_final_stats=1 -artifact_prefix="$found/" >"build/fuzz/$1.log" 2>&1; then
    tail -n 40 "build/fuzz/$1.log" >&2
    echo "fuzz: $1: broken, see build/fuzz/$1.log" >&2
    return 1
  fi
  echo "fuzz: $1: $(grep -o 'number_of_executed_units: [0-9]*' "build/fuzz/$1.log" | grep -o '[0-9]*$') inputs in $seconds s"
}
export -f fuzz
export seconds seed
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}'
