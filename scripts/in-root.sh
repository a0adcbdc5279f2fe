#!/usr/bin/env bash
# in-root.sh ROOT COMMAND...: runs a command in a Debian root, in which this repository has the same path. If ROOT is
# empty, runs the command on this machine. Needs root privileges, and for another architecture qemu-user-static.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$1
shift
[ -n "$root" ] || exec "$@"
mkdir -p "$root$PWD"
# The mount ends with the command.
exec unshare --mount bash -euc 'mount --bind "$0" "$1$0" && cd "$0" && exec chroot "$1" /usr/bin/env -C "$0" "${@:2}"' \
  "$PWD" "$root" "$@"
