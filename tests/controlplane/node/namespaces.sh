#!/usr/bin/env bash
# Runs a command in new mount, network and process namespaces, in which the command can start a real kubelet. Ports,
# addresses, mounts and processes of the command do not collide with those of other programs, and they disappear when
# the command exits.
#   namespaces.sh COMMAND...
# If such namespaces are not available, or scripts/node.sh has not built the node, prints the reason and exits with 77.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
node=$here/../../../build/node

skip() { echo "skipped: $*"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "a kubelet needs root privileges"
[ -e "$node/ready" ] || skip "there is no build/node: scripts/node.sh builds it"
for tool in runc ip; do
  command -v "$tool" >/dev/null || skip "$tool is missing: scripts/install-deps.sh --node installs it"
done
unshare=(unshare --mount --net --pid --fork --kill-child --mount-proc)
"${unshare[@]}" true 2>/dev/null || skip "there are no namespaces of mounts, networks and processes here"

# Allows one run at a time. Files of the previous run are removed here, because its mounts disappeared together with its
# namespaces.
exec 9>"$node/lock"
flock 9
rm -rf --one-file-system "$node/run"
mkdir "$node/run"

# shellcheck disable=SC2016  # the inner shell expands them
DRIVERUPGRADE_REAL_NODE=$(readlink -f "$node") exec "${unshare[@]}" bash -euc '
  mount --make-rshared /
  mount -t tmpfs tmpfs /run
  mount -t tmpfs tmpfs /var/log
  mount -t tmpfs tmpfs /sys/module    # a kernel without loaded modules
  ip link set lo up
  ip address add 10.0.0.1/32 dev lo   # address of the Service `kubernetes`, on which the API server itself listens
  # No exec here: the shell must stay process 1, because process 1 reaps the orphaned processes of containers.
  "$@"
  ' namespaces "$@"
