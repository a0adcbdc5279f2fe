#!/usr/bin/env bash
# Installs the Debian packages for building and testing. The options --fuzz, --tidy, --coverage, --docs, --image, --release
# and --node add the packages that the script with that name needs. The option --format adds the packages that
# scripts/changed.sh needs, and --browser adds Chromium. Does nothing if everything is installed. The option
# --print-libraries only prints the libraries that programs link.
set -euo pipefail
cd "$(dirname "$0")/.."

libraries=(
  libabsl-dev libcli11-dev libcpp-httplib-dev libcpprest-dev libcurl4-openssl-dev libfmt-dev libssl-dev libyaml-cpp-dev
  prometheus-cpp-dev rapidjson-dev
)
if [ "${1:-}" = --print-libraries ]; then
  printf '%s\n' "${libraries[@]}"
  exit
fi

packages=(
  # build
  build-essential ccache cmake ninja-build pkg-config
  "${libraries[@]}"
  # tests; tzdata for the windows of rollouts, ca-certificates and python3-venv for the control plane (tests/controlplane) and for packaging/conan/check.sh
  catch2 ca-certificates libmimalloc-dev python3-jsonschema python3-venv python3-yaml tzdata
  # bench
  libbenchmark-dev valgrind
)

[ "${1:-}" != --fuzz ] || packages+=(clang-14 libclang-rt-14-dev)
[ "${1:-}" != --format ] || packages+=(clang-format-14 git)
[ "${1:-}" != --tidy ] || packages+=(clang-14 clang-tidy-14)
[ "${1:-}" != --coverage ] || packages+=(gcovr)
# Chromium takes 350 MB and is therefore optional. Tests that open pages in a browser are skipped if Chromium is
# missing.
[ "${1:-}" != --browser ] || packages+=(chromium)
[ "${1:-}" != --docs ] || packages+=(doxygen mkdocs mkdocs-material)
[[ "${1:-}" != --image && "${1:-}" != --release ]] || packages+=(buildah mmdebstrap)
# Releases contain programs for arm64, which other machines compile with a cross compiler.
[[ "${1:-}" != --release || "$(dpkg --print-architecture)" = arm64 ]] ||
  packages+=(arch-test dpkg-dev g++-aarch64-linux-gnu qemu-user-static)
[ "${1:-}" != --node ] || packages+=(buildah busybox-static containernetworking-plugins iproute2 mmdebstrap runc)

# install_packages PACKAGE...: installs the packages with root privileges.
install_packages() {
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install-deps: needs root or sudo to install: $*" >&2; exit 1; }
    sudo=(sudo)
  fi
  echo "install-deps: installing $*"
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
}

# Installs promtool without the rest of its package, which would start a server. Only the alert tests need promtool;
# without it, they are skipped.
fetch_promtool() {
  local folder
  folder=$(mktemp -d)
  (cd "$folder" && apt-get download -qq prometheus 2>/dev/null &&
    dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool) &&
    mkdir -p build/tools && mv "$folder/usr/bin/promtool" build/tools/ ||
    echo "install-deps: promtool cannot be downloaded"
  rm -r "$folder"
}

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: everything is installed"
else
  install_packages "${missing[@]}"
fi
command -v promtool >/dev/null || [ -x build/tools/promtool ] || fetch_promtool
