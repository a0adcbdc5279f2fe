#!/usr/bin/env bash
# Runs a command beside which a real kubelet can run: in mount, network and process namespaces of its own, so that no port,
# address, mount or process of it meets any other, and that all of it ends with the command.
#   namespaces.sh COMMAND...
# Where that cannot be had, or scripts/node.sh has not built the node, it says so and ends with 77.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
node=$here/../../../build/node

skip() { echo "skipped: $*"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "a kubelet needs root's rights"
[ -e "$node/ready" ] || skip "there is no build/node: scripts/node.sh builds it"
for tool in runc ip; do
  command -v "$tool" >/dev/null || skip "there is no $tool: scripts/install-deps.sh --node installs it"
done
unshare=(unshare --mount --net --pid --fork --kill-child --mount-proc)
"${unshare[@]}" true 2>/dev/null || skip "there are no namespaces of mounts, networks and processes here"

# One at a time. What the one before has left is removed here, where none of its mounts is.
exec 9>"$node/lock"
flock 9
rm -rf --one-file-system "$node/run"
mkdir "$node/run"

# shellcheck disable=SC2016  # it is the inner shell that knows them
DRIVERUPGRADE_REAL_NODE=$(readlink -f "$node") exec "${unshare[@]}" bash -euc '
  mount --make-rshared /
  mount -t tmpfs tmpfs /run
  mount -t tmpfs tmpfs /var/log
  mount -t tmpfs tmpfs /sys/module    # of a kernel that has loaded nothing
  ip link set lo up
  ip address add 10.0.0.1/32 dev lo   # of the Service `kubernetes`: the API server itself
  # Not exec: the shell takes what containers leave behind.
  "$@"
  ' namespaces "$@"
