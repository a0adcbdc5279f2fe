#!/usr/bin/env bash
# Builds the real node of the end-to-end tests into build/node: kubelet, container runtime and images, including our
# own.
#
#   node.sh [VERSION]: the kubelet of Kubernetes 1.35, 1.36 or 1.37 (default: the newest version)
#
# The programs are cached in the same way as the control plane. After tests/controlplane/build.sh, the first run takes
# two minutes; later runs reuse the cached programs. If root privileges or the tools are missing, the script prints the
# reason and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD/tests/controlplane
work=$PWD/build/node
cache=${XDG_CACHE_HOME:-$HOME/.cache}/driverupgrade
export BUILDAH_ISOLATION=chroot
# shellcheck source=tests/controlplane/kubernetes/version.sh
source "$source/kubernetes/version.sh"

unavailable() { echo "node: $*" >&2; exit 77; }
say() { echo "node: $*" >&2; }

# compile FOLDER
compile() {
  local go module output=$1
  for go in "$(command -v go || true)" /usr/local/go/bin/go "$cache"/go-*/bin/go; do
    if [ -x "$go" ]; then break; fi
  done
  [ -x "$go" ] || unavailable "there is no Go toolchain: tests/controlplane/build.sh installs one"
  export GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0
  for module in "$modfile" "$source/node/go.mod"; do
    (cd "${module%/*}" && "$go" mod download -modfile "$module") || unavailable "the modules cannot be fetched with $("$go" env GOVERSION)"
  done
  say "compiling kubelet $kubernetes and containerd with $("$go" env GOVERSION)"
  (cd "$source/kubernetes" && nice -n 19 "$go" build -modfile "$modfile" -trimpath -buildvcs=false -o "$output/kubelet" \
    -ldflags "-s -w $stamp" ./kubelet)
  (cd "$source/node" && nice -n 19 "$go" build -trimpath -buildvcs=false -o "$output/" -ldflags "-s -w" \
    -tags no_btrfs,no_zfs,no_aufs,no_devmapper tool)
}

programs() {
  local hash folder
  hash=$(cat "$modfile" "${modfile%.mod}.sum" "$source"/kubernetes/{kubelet/main.go,version.sh} "$source"/node/{go.mod,go.sum} |
    sha256sum | cut -c 1-16)
  folder=$cache/node-$kubernetes-$hash
  mkdir -p "$cache"
  exec 9>"$cache/node.lock"
  flock 9
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.new"
    mkdir "$folder.new"
    compile "$folder.new"
    mv "$folder.new" "$folder"
  fi
  ln -sfn "$folder" "$work/bin"
}

# play REFERENCE VERSION FILE: builds an image of tests/controlplane/node/played.
play() {
  buildah "${store[@]}" bud --quiet --build-arg VERSION="$2" -t "$1" -f "$source/node/played/Containerfile" "$work/context" >/dev/null
  buildah "${store[@]}" push --quiet "$1" "docker-archive:$work/images/$3.tar:$1"
}

choose_kubernetes "$source/kubernetes" "${1:-}"
rm -rf "$work"
[[ $kubernetes != v1.35.* ]] || unavailable "the kubelet of $kubernetes and kwok need different versions of k8s.io/cri-client"
[ "$(id -u)" -eq 0 ] || unavailable "needs root privileges"
for tool in buildah busybox runc; do
  command -v $tool >/dev/null || unavailable "$tool is missing: scripts/install-deps.sh --node installs it"
done
mkdir -p "$work/images" "$work/context/bin" "$work/context/node" "$work/context/tmp"
programs
scripts/image.sh "$work/images"
cp "$source"/node/played/{entry,pause,driver,nvidia-smi,mofed,rmmod,workload} "$(command -v busybox)" \
  "$work/context/bin/"
for command in sh cat echo mkdir rm sleep test; do ln -s busybox "$work/context/bin/$command"; done
store=(--storage-driver vfs --root "$work/store" --runroot "$work/run")
play localhost/played:1 1 played
for version in 1 2 3 broken; do
  play "registry.example.com/nvidia-driver:$version" "$version" "nvidia-driver-$version"
  play "registry.example.com/nvidia-driver:$version-ubuntu22.04" "$version" "nvidia-driver-$version-ubuntu22.04"
done
rm -rf "$work/store" "$work/run"
touch "$work/ready"
say "$work is built"
