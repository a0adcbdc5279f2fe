#!/usr/bin/env bash
# Installs each artifact of a release into an empty root or prefix and runs it: verify.sh DIRECTORY. scripts/release.sh
# calls it. Exits with a non-zero code if an artifact fails. Artifacts that the release does not contain are not tested.
set -euo pipefail
cd "$(dirname "$0")/../.."
release=$1 source=$PWD work=$PWD/build/release-verify
version=$(basename "$(find "$release" -maxdepth 1 -name 'driverupgrade-*.spdx.json')" .spdx.json)
version=${version#driverupgrade-}
machine=$(dpkg --print-architecture) arch=''
consumer=$source/tests/package/consumers/find_package_core
failed=0
rm -rf "$work"
mkdir -p "$work/logs"

unavailable() { echo "$*"; exit 77; }
# there PATTERN...: succeeds if the release has artifacts that match these patterns.
there() {
  local pattern
  for pattern; do compgen -G "$release/$pattern" >/dev/null || unavailable "the release has no $pattern"; done
}

# can_run: succeeds if this machine can run programs for the architecture.
can_run() {
  [ "$arch" = "$machine" ] && return
  command -v arch-test >/dev/null || unavailable "arch-test is missing: scripts/install-deps.sh --release installs it"
  arch-test "$arch" >/dev/null || unavailable "this machine cannot run programs for $arch"
}

# check NAME FUNCTION: calls FUNCTION and prints the result and the time. The last line of the function's output is a summary or,
# with exit code 77, the reason.
check() {
  local began=$SECONDS log=$work/logs/$2${arch:+-$arch}.log status word=failed
  # The function is not called in a condition, because an error would then not end the function.
  set +e
  (set -e && "$2") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  case $status in
    0) word=passed ;;
    77) word="not tried" ;;
    *) failed=1 && tail -n 30 "$log" >&2 ;;
  esac
  echo "verify: $1: $word, $((SECONDS - began)) s: $(tail -n 1 "$log")"
}

checksums() {
  cd "$release"
  sha256sum --check --quiet --strict SHA256SUMS
  # The directory must not contain other files.
  diff <(cut -c67- SHA256SUMS) <(find . -type f -printf '%P\n' | grep -vxE 'SHA256SUMS(\.sig)?|signing-key\.pem' | LC_ALL=C sort)
  echo "$(wc -l <SHA256SUMS) files"
}

signature() {
  local key=${RELEASE_PUBLIC_KEY:-$release/signing-key.pem} whose="the public key in the folder, which proves nothing about its origin: use --key FILE"
  there SHA256SUMS.sig
  [ -z "$RELEASE_PUBLIC_KEY" ] || whose=$RELEASE_PUBLIC_KEY
  openssl pkeyutl -verify -rawin -pubin -inkey "$key" -in "$release/SHA256SUMS" -sigfile "$release/SHA256SUMS.sig"
  echo "by $whose"
}

sbom() {
  scripts/release/sbom.py --check "$release"
  grep -c '"SPDXID": "SPDXRef-[^D]' "$release/driverupgrade-$version.spdx.json" | sed 's/$/ packages/'
}

# build_consumer PREFIX OPTION...: builds a program that uses the library installed in PREFIX.
build_consumer() {
  rm -rf "$work/consumer"
  cmake -G Ninja -S "$consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$1" "${@:2}"
  cmake --build "$work/consumer"
}

# The port unpacks, compiles and installs the source archive.
port() {
  there "driverupgrade-$version-vcpkg-port.tar.gz" "driverupgrade-$version.tar.gz"
  mkdir "$work/port"
  tar -xzf "$release/driverupgrade-$version-vcpkg-port.tar.gz" -C "$work/port"
  cmake -DPORT="$work/port/driverupgrade" -DDOWNLOADS="$release" -DPREFIX="$work/vcpkg" -DSOURCE="$work/archive" -P scripts/release/vcpkg.cmake
  build_consumer "$work/vcpkg"
  "$work/consumer/consumer"
}

conan() {
  local conan
  there "driverupgrade-$version-conan.tgz"
  export CONAN_HOME=$work/conan
  conan=$(packaging/conan/home.sh) || unavailable "no Conan from PyPI"
  "$conan" cache restore "$release/driverupgrade-$version-conan.tgz"
  CMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache || true) CCACHE_BASEDIR=$CONAN_HOME CCACHE_NOHASHDIR=1 \
    "$conan" install "$source/tests/package/consumers/conan" --output-folder "$work/conan-consumer" --build=missing \
    --profile:all packaging/conan/offline/profile --conf "tools.build:jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
  build_consumer "" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_TOOLCHAIN_FILE="$work/conan-consumer/conan_toolchain.cmake"
  "$work/consumer/consumer"
}

# image NAME PROGRAM...
image() {
  local store=(buildah --storage-driver vfs --root "$work/store" --runroot "$work/run") container program
  container=$("${store[@]}" from --arch "$arch" --pull "oci-archive:$release/$1-$version-oci-$arch.tar")
  for program in "${@:2}"; do
    [ "$("${store[@]}" run "$container" -- "/usr/bin/$program" --version)" = "$version" ]
  done
  "${store[@]}" rm "$container"
}

images() {
  there "driverupgrade-$version-oci-$arch.tar" "driver-manager-$version-oci-$arch.tar"
  can_run
  [ "$(id -u)" -eq 0 ] && command -v buildah || unavailable "needs root privileges and buildah"
  export BUILDAH_ISOLATION=chroot
  image driverupgrade gpu_operator ofed_operator safe_load_init upgradectl openshift_preflight
  image driver-manager driver_manager
  echo "each program prints $version"
}

charts() {
  local helm chart found
  there "*-driver-upgrade-$version.tgz"
  helm=$(command -v helm || ls build/tools/helm) || unavailable "no helm: scripts/deploy-tools.sh builds it"
  export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
  for chart in "$release"/*-driver-upgrade-"$version".tgz; do
    "$helm" lint --strict "$chart"
    [ "$("$helm" show chart "$chart" | sed -n 's/^appVersion: //p')" = "$version" ]
    found=$("$helm" template try "$chart" | grep -c "image: .*:$version") && [ "$found" -eq 1 ]
  done
  echo "both render a Deployment of $version; tests/controlplane installs charts on a cluster"
}

crds() {
  there "driverupgrade-$version-crds.yaml"
  python3 - "$release/driverupgrade-$version-crds.yaml" <<'PYTHON'
import sys
import yaml
objects = [each for each in yaml.safe_load_all(open(sys.argv[1], encoding="utf-8")) if each]
assert {each["kind"] for each in objects} == {"CustomResourceDefinition"}
assert all(version["schema"]["openAPIV3Schema"] for each in objects for version in each["spec"]["versions"])
print(*sorted(each["spec"]["names"]["plural"] for each in objects))
PYTHON
}

# Creates a root that contains a shell and apt, but none of the libraries that our programs load.
make_root() {
  there "*-$arch.tar.gz"
  can_run
  [ "$(id -u)" -eq 0 ] && command -v mmdebstrap || unavailable "needs root privileges and mmdebstrap"
  mmdebstrap --quiet --arch="$arch" --variant=minbase bookworm "$root" || { rm -rf --one-file-system "$root" && unavailable "no Debian from its mirrors"; }
  cp tests/tools/upgradectl/testdata/{fleet.json,policy.yaml} "$root/"
  echo "minbase"
}

# plan PROGRAM...: runs upgradectl in the root, and prints its plan for a dump.
plan() {
  chroot "$root" "$@" plan --cluster /fleet.json --policy /policy.yaml --namespace gpu-operator --driver-labels app=nvidia-driver-daemonset
}

plugin() {
  local archive=upgradectl-$version-linux-$arch.tar.gz
  there "$archive" driverupgrade.yaml
  [ -d "$root" ] || unavailable "no root"
  grep -q "sha256: $(sha256sum "$release/$archive" | cut -d' ' -f1)\$" "$release/driverupgrade.yaml"
  # krew links the file named in the manifest into a directory of the search path.
  mkdir -p "$root/plugin"
  tar -xzf "$release/$archive" -C "$root/plugin"
  ln -s "/plugin/$(sed -n '/^ *bin: /{s///p;q}' "$release/driverupgrade.yaml")" "$root/usr/local/bin/kubectl-driverupgrade"
  [ "$(chroot "$root" kubectl-driverupgrade --version)" = "$version" ]
  plan kubectl-driverupgrade | grep gpu-1
  # The root itself lacks the plugin's libraries.
  if plan /plugin/lib/upgradectl; then return 1; fi
  rm "$root/usr/local/bin/kubectl-driverupgrade"
  echo "a plan of a dump, in a root without any of its libraries"
}

debian_packages() {
  local toolchain=$source/cmake/toolchains/debian-$arch.cmake
  local library=libdriverupgrade${version}_${version}_$arch.deb dev=libdriverupgrade-dev_${version}_$arch.deb
  there "$library" "$dev" "driverupgrade-tools_${version}_$arch.deb"
  [ -d "$root" ] || unavailable "no root"
  if [ "$arch" != "$machine" ]; then
    [ -e "$toolchain" ] && command -v "$(sed -n 's/.*CXX_COMPILER \(.*\))/\1/p' "$toolchain")" || unavailable "no cross compiler for $arch"
  fi
  cp "$release"/*_"$arch".deb "$root/"
  chroot "$root" sh -c "apt-get update -qq && apt-get install -y -qq --no-install-recommends /*.deb" || unavailable "no Debian from its mirrors"
  [ "$(chroot "$root" upgradectl --version)" = "$version" ]
  plan kubectl-driverupgrade | grep gpu-1
  chroot "$root" sh -c "ldd /usr/lib/*/libdriverupgrade_*.so.*" | (! grep "not found")
  if [ "$arch" = "$machine" ]; then
    build_consumer "$root/usr"
  else
    build_consumer /usr --toolchain "$toolchain" -DCMAKE_FIND_ROOT_PATH="$root"
  fi
  cp "$work/consumer/consumer" "$root/"
  chroot "$root" /consumer
  chroot "$root" apt-get remove -y -qq 'driverupgrade-tools' "libdriverupgrade$version"
  [ -z "$(find "$root/usr" -name '*driverupgrade*')" ]
  echo "installed by apt, run, linked with, and removed"
}

go_module() {
  local go proxies
  there "goproxy/*/*/@v/v$version.zip"
  go=$(scripts/find-go.sh) || unavailable "no Go toolchain"
  mkdir "$work/go"
  # The required modules come from the module cache of this machine, or else from Go's configured proxy.
  proxies=file://$release/goproxy,file://$("$go" env GOMODCACHE)/cache/download,$("$go" env GOPROXY)
  # Outside the consumer's module: `go mod tidy` would treat packages in the cache as parts of the module.
  export GOPROXY=$proxies GOMODCACHE=$work/go-cache GOSUMDB=off GOFLAGS="-mod=mod -modcacherw" GOTOOLCHAIN=local CGO_ENABLED=0
  cp scripts/release/consumer.go "$work/go/main.go"
  cd "$work/go"
  "$go" mod init consumer
  "$go" get driverupgrade.example/go@latest
  grep "driverupgrade.example/go v$version" go.mod
  "$go" mod tidy
  "$go" run . "$source/tests/tools/upgradectl/testdata/fleet.json" "$source/tests/tools/upgradectl/testdata/policy.yaml"
}

echo "verify: driverupgrade $version in $release"
check "checksums" checksums
check "signature" signature
check "SBOM" sbom
check "vcpkg port, source archive" port
check "Conan recipe" conan
check "charts" charts
check "CRDs" crds
check "Go module" go_module
for arch in amd64 arm64; do
  root=$work/root-$arch
  check "images for $arch" images
  check "empty root for $arch" make_root
  check "kubectl plugin for $arch" plugin
  check "Debian packages for $arch" debian_packages
done
exit $failed
