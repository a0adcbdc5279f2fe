#!/usr/bin/env bash
# Prints the path of the Go toolchain. If Go is missing, tests/controlplane/build.sh installs it in the last of these
# directories.
for go in "$(command -v go || true)" /usr/local/go/bin/go "${XDG_CACHE_HOME:-$HOME/.cache}"/driverupgrade/go-*/bin/go; do
  if [[ -x $go ]]; then
    echo "$go"
    exit
  fi
done
echo "no Go toolchain is installed" >&2
exit 1
