#!/usr/bin/env bash
# Runs in the first stage of the images. Copies the programs, their libraries and the time zones into one directory for
# each image. Compiles the programs that are not in `programs` yet.
#   collect.sh DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/../.."
unprivileged=(gpu_operator ofed_operator safe_load_init upgradectl openshift_preflight)

compile() {
  local program
  scripts/install-deps.sh
  apt-get install -y -qq --no-install-recommends kmod mount
  cmake --preset release
  cmake --build --preset release --target "${unprivileged[@]}" driver_manager
  mkdir programs
  for program in "${unprivileged[@]}" driver_manager; do strip -o "programs/$program" "build/release/bin/$program"; done
}

# libraries FILE...: prints the libraries that the loader maps for the files, and the loader itself.
libraries() {
  local found
  found=$(ldd "$@")
  if grep "not found" <<<"$found" >&2; then return 1; fi
  awk '$2 == "=>" { print $3 } $1 ~ /^\// && /\(0x/ { print $1 }' <<<"$found" | sort -u
}

# fill IMAGE FILE...: copies the files to /usr/bin of the image, and adds their libraries.
fill() {
  local needed
  mkdir -p "$1/usr/bin"
  cp --dereference "${@:2}" "$1/usr/bin/"
  needed=$(libraries "${@:2}")
  # shellcheck disable=SC2086  # one word each
  cp --dereference --parents $needed "$1"
}

[ -d programs ] || compile
fill "$1/driverupgrade" "${unprivileged[@]/#/programs/}"
# Time zone data, which the operators need if a window of a policy names a time zone.
mkdir -p "$1/driverupgrade/etc" "$1/driverupgrade/usr/share"
cp -r /usr/share/zoneinfo "$1/driverupgrade/usr/share/"
echo "nonroot:x:65532:65532::/:/sbin/nologin" >"$1/driverupgrade/etc/passwd"
echo "nonroot:x:65532:" >"$1/driverupgrade/etc/group"

fill "$1/driver-manager" programs/driver_manager "$(command -v rmmod)" "$(command -v umount)" "$(command -v chroot)"
