#!/usr/bin/env bash
# Builds the images of deploy/image/Containerfile from the programs in build/release/bin. The Debian base of the images
# comes from mmdebstrap instead of a registry. Runs each program once in its image, as the image's user.
#
#   image.sh --compile: compiles the programs in the recipe's first stage, as users with a registry do. Each of
#   the two image builds compiles the programs, which takes 43 minutes on two busy cores, at low priority.
#   image.sh [DIRECTORY]: also writes the images into DIRECTORY, in the format of `podman load` and `ctr images import`.
#   The images have the names that the manifests of deploy and of the examples use.
#   image.sh --oci DIRECTORY: writes the images as OCI archives. With SOURCE_DATE_EPOCH, the archives are reproducible.
#   image.sh --root ROOT --programs BIN …: for another architecture. BIN contains the programs, and ROOT is a Debian root of that
#   architecture, with the libraries that the programs load. An empty ROOT stands for this machine.
#   If root privileges or one of the tools is missing, the script prints the reason and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
unprivileged=(gpu_operator ofed_operator safe_load_init upgradectl openshift_preflight)
programs=("${unprivileged[@]}" driver_manager)
work=$PWD/build/image
version=$(sed -n 's/.*_VERSION_STRING "\(.*\)"/\1/p' include/driverupgrade/version.h)
images=(driverupgrade driver-manager)
registry=registry.example.com
export BUILDAH_ISOLATION=chroot

unavailable() { echo "image: $*" >&2; exit 77; }
say() { echo "image: $*"; }
store() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }

# The base contains the dependencies of the programs, but no compiler.
make_base() {
  local container include
  include=$(scripts/in-root.sh "$root" scripts/debian-packages.sh "$work"/context/programs/* | paste -sd,),kmod,mount,tzdata
  if ! cmp -s "$work/base.packages" <<<"$arch"$'\n'"$include"; then
    rm -f "$work/base.packages"
    mmdebstrap --quiet --arch="$arch" --variant=minbase --include="$include" bookworm "$work/base.tar"
    printf '%s\n' "$arch" "$include" >"$work/base.packages"
  fi
  container=$(store from --arch "$arch" scratch)
  store add --quiet "$container" "$work/base.tar" / >/dev/null
  store commit --quiet --rm "$container" localhost/base >/dev/null
}

# Creates a base image without additional packages, like the base image of a registry.
make_plain_base() {
  local container
  mmdebstrap --quiet --variant=minbase bookworm "$work/plain.tar"
  container=$(store from scratch)
  store add --quiet "$container" "$work/plain.tar" / >/dev/null
  store commit --quiet --rm "$container" localhost/base >/dev/null
}

# build IMAGE FLAG...
build() {
  store bud --quiet --pull-never --platform "linux/$arch" --build-arg BASE=localhost/base -t "$registry/$1:$version" "${@:2}" \
    ${SOURCE_DATE_EPOCH:+--timestamp "$SOURCE_DATE_EPOCH"} \
    -f "$work/context/deploy/image/Containerfile" "$work/context" >/dev/null
}

# run PROGRAM ARGUMENT...: prints its output, and returns its exit code.
run() { store run "$container" -- "/usr/bin/$1" "${@:2}" </dev/null; }

# try_image IMAGE USER PROGRAM...
try_image() {
  local program image=$registry/$1:$version
  container=$(store from --arch "$arch" --pull-never "$image")
  [ "$(store inspect --type image --format '{{.OCIv1.Config.User}}' "$image")" = "$2" ]
  for program in "${@:3}"; do
    run "$program" --help >"$work/$program.help"
    [ "$(run "$program" --version)" = "$version" ] || { say "the version of $program is not $version"; return 1; }
    say "$1: $program runs: $(head -n 1 "$work/$program.help")"
  done
}

# Tests more than --help: outside a pod, gpu_operator must fail because the token of its service account is missing.
try_operator() {
  local status=0
  run gpu_operator --in-cluster --namespace gpu-operator --cluster-policy --once 2>"$work/in-cluster.log" || status=$?
  [ "$status" -eq 2 ] || { say "gpu_operator outside a pod exits with $status:"; cat "$work/in-cluster.log"; return 1; }
}

# Tests the programs that driver_manager calls.
try_tools() {
  local tool
  for tool in rmmod umount chroot; do
    store run "$container" -- "$tool" --version >/dev/null || { say "driver-manager has no $tool"; return 1; }
  done
}

# write_docker NAME FILE: writes the image in the format of `podman load` and `ctr images import`.
write_docker() { rm -f "$2" && store push --quiet "$1" "docker-archive:$2:$1"; }

# write_oci NAME FILE: writes the image as an OCI archive.
write_oci() {
  rm -rf "$work/oci"
  store push --quiet "$1" "oci:$work/oci:$1"
  tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -C "$work/oci" -cf "$2" blobs index.json oci-layout
}

[ "$(id -u)" -eq 0 ] || unavailable "needs root privileges"
for tool in buildah mmdebstrap; do
  command -v $tool >/dev/null || unavailable "$tool is missing: scripts/install-deps.sh --image installs it"
done
rm -rf "$work/context" "$work/store" "$work/run"
mkdir -p "$work/context"
root='' compiled=build/release/bin
while [[ "${1:-}" = --root || "${1:-}" = --programs ]]; do
  if [ "$1" = --root ]; then root=$2; else compiled=$2; fi
  shift 2
done
arch=$(scripts/in-root.sh "$root" dpkg --print-architecture)
write=write_docker
[ "${1:-}" != --oci ] || { write=write_oci && shift; }
if [ "${1:-}" = --compile ]; then
  shift
  git archive HEAD | tar -x -C "$work/context"
  make_plain_base
else
  for program in "${programs[@]}"; do
    [ -x "$compiled/$program" ] || unavailable "there is no $compiled/$program"
  done
  mkdir -p "$work/context/programs" "$work/context/deploy/image"
  cp deploy/image/* "$work/context/deploy/image/"
  for program in "${programs[@]}"; do
    "$(dpkg-architecture -A"$arch" -qDEB_TARGET_GNU_TYPE)-strip" -o "$work/context/programs/$program" "$compiled/$program"
  done
  make_base
fi
build driverupgrade
build driver-manager --target driver-manager
try_image driverupgrade 65532:65532 "${unprivileged[@]}"
try_operator
store rm "$container" >/dev/null
try_image driver-manager "" driver_manager
try_tools
store rm "$container" >/dev/null
for image in "${images[@]}"; do
  name=$registry/$image:$version
  [ $# -eq 0 ] || $write "$name" "$1/$image.tar"
  say "$name is built"
done
