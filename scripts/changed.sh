#!/usr/bin/env bash
# Checks changed lines: the format of C and C++ with clang-format, and the English with scripts/prose.py. Takes seconds.
#   scripts/changed.sh [COMMIT]             lines that differ from this commit (default: the merge base with main, or 20
#                                           commits ago if the branch has no other base)
#   scripts/changed.sh --compile [COMMIT]   instead compiles each changed source and header of the library on its own with
#                                           clang, because a unity build hides missing includes. Takes seconds per file, and
#                                           needs the configured preset `release`
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints the merge base of HEAD with main; fails if main is unknown, or if HEAD is part of it.
merge_base() {
  local branch commit
  for branch in origin/main main; do
    commit=$(git merge-base HEAD "$branch" 2>/dev/null) || continue
    [ "$commit" != "$(git rev-parse HEAD)" ] || return
    echo "$commit"
    return
  done
  return 1
}

# Prints the twentieth ancestor of HEAD, or the oldest commit of a shorter history.
twenty_ago() { git rev-list --first-parent --max-count 21 HEAD | tail -n 1; }

mode=check
if [ "${1:-}" = --compile ]; then mode=compile && shift; fi
base=${1:-$(merge_base || twenty_ago)}
echo "changed: lines that differ from $(git log -1 --format='%h %s' "$base")"

# Compiles one file on its own, without generating code.
compile() {
  clang++-14 -x c++ -std=gnu++20 -DFMT_SHARED -Isrc -Iinclude -Ibuild/release/driverupgrade_generated -Wall -Wextra -Wpedantic -Werror \
    -Wno-pragma-once-outside-header -fsyntax-only "$1" || { echo "changed: $1 does not compile on its own" >&2; return 1; }
}
if [ "$mode" = compile ]; then
  export -f compile
  git diff --name-only --diff-filter=d "$base" -- 'src/*.cc' 'src/*.h' 'include/*.h' | xargs -P "$(nproc)" -I{} bash -c 'compile {}'
  exit
fi

failed=0
diff=$(git-clang-format-14 --binary clang-format-14 --extensions c,cc,h --diff --quiet "$base")
if [ -n "$diff" ]; then
  echo "$diff"
  echo "changed: run git-clang-format-14 --binary clang-format-14 --extensions c,cc,h $base" >&2
  failed=1
fi
scripts/prose.py --changed "$base" --max-share 0 || failed=1
exit "$failed"
