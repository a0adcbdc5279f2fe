#!/usr/bin/env bash
# Builds the image of deploy/image/Containerfile of the programs in build/release/bin, on a Debian made by mmdebstrap in
# the place of one from a registry, and runs each program in it once, as the user that the image names.
#   image.sh [FILE]: writes it to FILE, too, as `podman load` and `ctr images import` take it.
# Where root's rights or the tools are missing it says so and ends with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=(gpu_operator ofed_operator safe_load_init)
work=$PWD/build/image
version=$(sed -n 's/.*_VERSION_STRING "\(.*\)"/\1/p' include/driverupgrade/version.h)
image=localhost/driverupgrade:$version
export BUILDAH_ISOLATION=chroot

unavailable() { echo "image: $*" >&2; exit 77; }
say() { echo "image: $*"; }
store() { buildah --storage-driver vfs --root "$work/store" --runroot "$work/run" "$@"; }

# packages FILE...: those that have the libraries of the programs.
packages() {
  ldd "$@" | awk '$2 == "=>" { print $3 }' | sort -u | while read -r library; do
    library=$(readlink -f "$library")
    dpkg -S "$library" 2>/dev/null || dpkg -S "${library#/usr}"
  done | cut -d: -f1 | sort -u
}

# The base has what the programs load, and nothing that compiles.
make_base() {
  local container include
  include=$(packages "$work"/context/programs/* | paste -sd,)
  if ! cmp -s "$work/base.packages" <<<"$include"; then
    rm -f "$work/base.packages"
    mmdebstrap --quiet --variant=minbase --include="$include,tzdata" bookworm "$work/base.tar"
    echo "$include" >"$work/base.packages"
  fi
  container=$(store from scratch)
  store add --quiet "$container" "$work/base.tar" / >/dev/null
  store commit --quiet --rm "$container" localhost/base >/dev/null
}

# run PROGRAM ARGUMENT...: what it writes, and how it ended.
run() { store run "$container" -- "/usr/bin/$1" "${@:2}" </dev/null; }

try_image() {
  local program status=0
  container=$(store from "$image")
  [ "$(store inspect --type image --format '{{.OCIv1.Config.User}}' "$image")" = 65532:65532 ]
  for program in "${programs[@]}"; do
    run "$program" --help >"$work/$program.help"
    say "$program runs: $(head -n 1 "$work/$program.help")"
  done
  [ "$(run gpu_operator --version)" = "$version" ] || { say "gpu_operator has another version than $version"; return 1; }
  # Beyond --help: it looks for its service account, which only a pod has.
  run gpu_operator --in-cluster --namespace gpu-operator --cluster-policy --once 2>"$work/in-cluster.log" || status=$?
  [ "$status" -eq 2 ] || { say "gpu_operator outside a pod ends with $status:"; cat "$work/in-cluster.log"; return 1; }
}

[ "$(id -u)" -eq 0 ] || unavailable "needs root's rights"
for tool in buildah mmdebstrap; do
  command -v $tool >/dev/null || unavailable "there is no $tool: scripts/install-deps.sh --image installs it"
done
for program in "${programs[@]}"; do
  [ -x "build/release/bin/$program" ] || unavailable "there is no build/release/bin/$program"
done

rm -rf "$work/context" "$work/store" "$work/run"
mkdir -p "$work/context/programs" "$work/context/deploy/image"
cp deploy/image/* "$work/context/deploy/image/"
for program in "${programs[@]}"; do
  strip -o "$work/context/programs/$program" "build/release/bin/$program"
done
make_base
store bud --quiet --pull-never --build-arg BASE=localhost/base -t "$image" \
  -f "$work/context/deploy/image/Containerfile" "$work/context" >/dev/null
try_image
[ $# -eq 0 ] || { rm -f "$1" && store push --quiet "$image" "docker-archive:$1:$image"; }
store rm "$container" >/dev/null
say "$image is built"
