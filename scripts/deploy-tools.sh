#!/usr/bin/env bash
# Builds kustomize and helm into build/tools, in the versions that scripts/deploy-tools/go.mod names. If the tools
# cannot be obtained, prints the reason and exits with 77. Run tests/controlplane/build.sh first: it installs Go if Go
# is missing, and compiles most of the same packages, so that the first run takes only about a minute. Later runs reuse
# the compiled packages.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/build/tools

unavailable() { echo "deploy-tools: $*" >&2; exit 77; }

for go in "$(command -v go || true)" /usr/local/go/bin/go "${XDG_CACHE_HOME:-$HOME/.cache}"/driverupgrade/go-*/bin/go; do
  if [[ -x $go ]]; then break; fi
done
[[ -x $go ]] || unavailable "no Go toolchain is installed"

mkdir -p "$tools"
cd scripts/deploy-tools
export GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0
"$go" mod download || unavailable "the modules cannot be fetched with $("$go" env GOVERSION)"
nice -n 19 "$go" build -trimpath -buildvcs=false -ldflags "-s -w" -o "$tools/" \
  helm.sh/helm/v3/cmd/helm sigs.k8s.io/kustomize/kustomize/v5
echo "deploy-tools: $tools/helm and $tools/kustomize, as in scripts/deploy-tools/go.mod"
