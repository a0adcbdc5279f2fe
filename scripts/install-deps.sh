#!/usr/bin/env bash
# Installs what building and testing needs from Debian's packages. Does nothing where it is all there already.
set -euo pipefail

packages=(
  # build
  build-essential ccache cmake ninja-build pkg-config
  # libraries
  libabsl-dev libcli11-dev libcpp-httplib-dev libcpprest-dev libcurl4-openssl-dev libfmt-dev libssl-dev libyaml-cpp-dev
  prometheus-cpp-dev rapidjson-dev
  # tests; the last two are for the control plane (tests/controlplane)
  catch2 ca-certificates python3-venv
)

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: everything is installed"
  exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install-deps: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "install-deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
