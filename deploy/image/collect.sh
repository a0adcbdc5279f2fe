#!/usr/bin/env bash
# Runs in the image's first stage: puts the programs, the libraries that they load and the time zones into a folder, which
# becomes the image. Programs that are not in `programs` already are compiled.
#   collect.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
image=$1
programs=(gpu_operator ofed_operator safe_load_init)

compile() {
  scripts/install-deps.sh
  cmake --preset release
  cmake --build --preset release --target "${programs[@]}"
  mkdir programs
  for program in "${programs[@]}"; do strip -o "programs/$program" "build/release/bin/$program"; done
}

# libraries FILE...: what the loader maps for them, itself included.
libraries() {
  local found
  found=$(ldd "$@")
  ! grep "not found" <<<"$found" >&2
  awk '$2 == "=>" { print $3 } $1 ~ /^\// && /\(0x/ { print $1 }' <<<"$found" | sort -u
}

[ -d programs ] || compile
mkdir -p "$image/usr/bin" "$image/etc" "$image/usr/share"
cp programs/* "$image/usr/bin/"
needed=$(libraries programs/*)
# shellcheck disable=SC2086  # one word each
cp --dereference --parents $needed "$image"
# For policies whose windows name a time zone.
cp -r /usr/share/zoneinfo "$image/usr/share/"
echo "nonroot:x:65532:65532::/:/sbin/nologin" >"$image/etc/passwd"
echo "nonroot:x:65532:" >"$image/etc/group"
