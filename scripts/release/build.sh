#!/usr/bin/env bash
# Builds the artifacts of RELEASE_VERSION from the clone that contains this script: build.sh DIRECTORY.
# scripts/release.sh calls it. With the same installed packages, the artifacts have the same bytes. All times are
# SOURCE_DATE_EPOCH, and archives are sorted and belong to root. Programs have no build ID, because it would be a hash
# of debug information that contains directory names.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1 work=$PWD/build/release-parts version=$RELEASE_VERSION
machine=$(dpkg --print-architecture)
url=${RELEASE_URL:-https://driverupgrade.example/releases/v$version}
programs=(gpu_operator ofed_operator safe_load_init upgradectl openshift_preflight driver_manager)
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 LC_ALL=C TZ=UTC
mkdir -p "$work/packages"

# artefact NAME FUNCTION: calls FUNCTION, which writes into $out. Exit code 77: the artifact cannot be built here, and
# the last line of output is the reason.
artefact() {
  local began=$SECONDS log=$work/$2${arch:+-$arch}.log status
  # The function is not called in a condition, because an error would then not end the function.
  set +e
  (set -e && "$2") >"$log" 2>&1 </dev/null
  status=$?
  set -e
  case $status in
    0) echo "release: $1: $((SECONDS - began)) s" ;;
    77) echo "release: $1: not built: $(tail -n 1 "$log")" ;;
    *) tail -n 30 "$log" >&2 && echo "release: $1: failed, see $log" >&2 && exit 1 ;;
  esac
}

# pack FILE DIRECTORY NAME...: writes an archive that contains these files and directories of DIRECTORY.
pack() {
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -C "$2" -cf - "${@:3}" | gzip -n -9 >"$1"
}

# select_architecture ARCH: sets the variables for the artifacts that depend on the architecture.
select_architecture() {
  arch=$1 root='' release=$PWD/build/release shared=$PWD/build/shared cross=()
  triplet=$(dpkg-architecture -A"$arch" -qDEB_TARGET_GNU_TYPE)
  parts=$work/$arch
  mkdir -p "$parts"
  [ "$arch" != "$machine" ] || return 0
  root=$work/root-$arch release=$release-$arch shared=$shared-$arch
  cross=(--toolchain "$PWD/cmake/toolchains/debian-$arch.cmake" -DCMAKE_SYSROOT="$root"
    -DCMAKE_INSTALL_LIBDIR="lib/$triplet")
}

# Creates a Debian root of another architecture, with the libraries to link and the tools to read programs.
foreign_root() {
  local tool libraries
  unavailable() { echo "$*" && exit 77; }
  [ "$(id -u)" -eq 0 ] && unshare --mount true || unavailable "needs root privileges and namespaces"
  for tool in arch-test mmdebstrap qemu-aarch64-static "$triplet-g++"; do
    command -v "$tool" || unavailable "$tool is missing: scripts/install-deps.sh --release installs it"
  done
  arch-test "$arch" || unavailable "this machine cannot run programs for $arch: register qemu with binfmt_misc"
  libraries=$(scripts/install-deps.sh --print-libraries | paste -sd,)
  if ! mmdebstrap --quiet --arch="$arch" --variant=minbase --include="$libraries,dpkg-dev,g++" bookworm "$root"; then
    rm -rf --one-file-system "$root"
    unavailable "no Debian for $arch from its mirrors"
  fi
}

# within COMMAND...: runs the command in the root of the selected architecture.
within() { scripts/in-root.sh "$root" "$@"; }

# compile DIRECTORY OPTION...: configures the directory with the preset `release` and the given options.
compile() {
  cmake --preset release -B "$1" "${cross[@]}" -DDRIVERUPGRADE_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--build-id=none "${@:2}"
}

compile_programs() {
  local compiler=g++-12 libraries
  [ -z "$root" ] || compiler=g++-12-$(tr _ - <<<"$triplet")
  libraries=$(scripts/install-deps.sh --print-libraries)
  # shellcheck disable=SC2086  # one word each
  debian_versions libc6-dev $libraries >"$work/packages/build-$arch"
  root='' debian_versions "$compiler" >>"$work/packages/build-$arch"
  compile "$release"
  cmake --build "$release" --target "${programs[@]}"
}

compile_libraries() {
  compile "$shared" -DBUILD_SHARED_LIBS=ON -DDRIVERUPGRADE_BUILD_EXAMPLES=OFF
  cmake --build "$shared"
}

source_archive() {
  git archive --format=tar --prefix="driverupgrade-$version/" HEAD | gzip -n -9 >"$out/driverupgrade-$version.tar.gz"
}

charts() {
  local chart name
  for chart in deploy/helm/*/Chart.yaml; do
    name=$(sed -n 's/^name: //p' "$chart")
    mkdir -p "$work/charts"
    # The directories that both charts share are links.
    cp -rL "$(dirname "$chart")" "$work/charts/$name"
    pack "$out/$name-$version.tgz" "$work/charts" "$name"
  done
}

crds() {
  local file
  for file in deploy/crds/*.yaml; do
    grep -q '^kind: CustomResourceDefinition$' "$file" || continue
    echo "---" && cat "$file"
  done >"$out/driverupgrade-$version-crds.yaml"
}

# debian_versions PACKAGE...: prints each package with its version, for the SBOM.
debian_versions() { within dpkg-query -W -f='${Package} ${Version}\n' "$@" | sort -u; }

# The images contain libraries of the Debian base that image.sh creates. Their versions can differ from the versions on
# this machine.
images() {
  local image
  scripts/image.sh --root "$root" --programs "$release/bin" --oci "$parts"
  for image in driverupgrade driver-manager; do
    mv "$parts/$image.tar" "$out/$image-$version-oci-$arch.tar"
  done
  tar -xOf build/image/base.tar ./var/lib/dpkg/status |
    awk '/^Package: / { name = $2 } /^Version: / { print name, $2 }' | sort -u >"$parts/base"
  tail -n 1 build/image/base.packages | tr , '\n' | sort -u | join - "$parts/base" >"$work/packages/images-$arch"
}

# The kubectl plugin with all libraries that it loads, including the loader, so that it runs on any distribution.
plugin() {
  local directory=$parts/plugin packages package library
  mkdir -p "$directory/lib" "$directory/licenses"
  "$triplet-strip" -o "$directory/lib/upgradectl" "$release/bin/upgradectl"
  within ldd "$release/bin/upgradectl" | awk '$2 == "=>" { print $3 } $1 ~ /^\// && /\(0x/ { print $1 }' >"$parts/libraries"
  while read -r library; do cp -L "$root$library" "$directory/lib/"; done <"$parts/libraries"
  mv "$directory"/lib/ld-linux-*.so.* "$directory/lib/loader"
  cat >"$directory/kubectl-driverupgrade" <<'SCRIPT'
#!/bin/sh
lib=$(dirname "$(readlink -f "$0")")/lib
exec "$lib/loader" --library-path "$lib" --argv0 upgradectl "$lib/upgradectl" "$@"
SCRIPT
  chmod +x "$directory/kubectl-driverupgrade"
  cp LICENSE "$directory/LICENSE"
  packages=$(within scripts/debian-packages.sh "$release/bin/upgradectl")
  for package in $packages; do cp -L "$root/usr/share/doc/$package/copyright" "$directory/licenses/$package"; done
  # shellcheck disable=SC2086  # one word each
  debian_versions $packages >"$work/packages/plugin-$arch"
  (cd "$directory" && pack "$out/upgradectl-$version-linux-$arch.tar.gz" . *)
}

krew_manifest() {
  local archive
  cat <<MANIFEST >"$out/driverupgrade.yaml"
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: driverupgrade
spec:
  version: v$version
  homepage: ${url%/releases/*}
  shortDescription: Follow and explain rollouts of containerized drivers
  description: |
    Shows where a rollout of a driver stands, why each node waits and the command that helps, finds what will be in the way of the
    next one, and simulates it on a copy of the cluster.
  platforms:
MANIFEST
  for archive in "$out"/upgradectl-"$version"-linux-*.tar.gz; do
    cat <<PLATFORM >>"$out/driverupgrade.yaml"
  - selector:
      matchLabels:
        os: linux
        arch: $(basename "${archive##*-linux-}" .tar.gz)
    uri: $url/$(basename "$archive")
    sha256: $(sha256sum "$archive" | cut -d' ' -f1)
    bin: kubectl-driverupgrade
PLATFORM
  done
}

go_module() { scripts/release/go_module.py "$out/goproxy"; }

conan_recipe() {
  local conan home=$work/conan epoch=$SOURCE_DATE_EPOCH
  mkdir -p "$home"
  export CONAN_HOME=$home/home
  conan=$(packaging/conan/home.sh)
  "$conan" export .
  "$conan" cache save "driverupgrade/$version" --file "$home/saved.tgz"
  mkdir "$home/recipe"
  tar -xzf "$home/saved.tgz" -C "$home/recipe"
  # Replaces the time of the export.
  sed -i "1s/.*/$epoch/" "$home"/recipe/*/e/conanmanifest.txt
  sed -i "s/\"timestamp\": [0-9.]*/\"timestamp\": $epoch.0/" "$home/recipe/pkglist.json"
  (cd "$home/recipe" && pack "$out/driverupgrade-$version-conan.tgz" . *)
}

vcpkg_port() {
  local port=$work/vcpkg/driverupgrade archive=driverupgrade-$version.tar.gz
  mkdir -p "$work/vcpkg"
  cp -r packaging/vcpkg/ports/driverupgrade "$port"
  sed -i -e '/^#/d' -e "/^get_filename_component/{
    s|.*|vcpkg_download_distfile(ARCHIVE\n  URLS $url/$archive\n  FILENAME $archive\n  SHA512 $(sha512sum "$out/$archive" | cut -d' ' -f1))|
    a vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE \"\${ARCHIVE}\")
  }" "$port/portfile.cmake"
  pack "$out/driverupgrade-$version-vcpkg-port.tar.gz" "$work/vcpkg" driverupgrade
}

# debian_package NAME SECTION DEPENDS SUMMARY: builds a package from the files in $parts/NAME.
debian_package() {
  local directory=$parts/$1
  mkdir -p "$directory/usr/share/doc/$1" "$directory/DEBIAN"
  cp LICENSE "$directory/usr/share/doc/$1/copyright"
  cat >"$directory/DEBIAN/control" <<CONTROL
Package: $1
Version: $version
Architecture: $arch
Maintainer: The authors of driverupgrade <driverupgrade@driverupgrade.example>
Installed-Size: $(find "$directory/usr" -type f -printf '%s\n' | awk '{ bytes += $1 } END { print int(bytes / 1024) + 1 }')
Depends: $3
Section: $2
Priority: optional
Description: $4
CONTROL
  dpkg-deb --root-owner-group --build -Zxz --threads-max=1 "$directory" "$out/$1_${version}_$arch.deb"
}

# needed DIRECTORY FILE...: prints the packages that these programs need, except our own libraries, which are in
# DIRECTORY.
needed() {
  mkdir -p "$parts/shlibs/debian"
  echo "Source: driverupgrade" >"$parts/shlibs/debian/control"
  within env -C "$parts/shlibs" dpkg-shlibdeps -O --ignore-missing-info "-l$1" "${@:2}" | sed -n 's/^shlibs:Depends=//p'
}

debian_packages() {
  local library=libdriverupgrade$version lib libraries_need tools_need
  DESTDIR=$parts/$library cmake --install "$shared" --component driverupgrade_rt
  DESTDIR=$parts/libdriverupgrade-dev cmake --install "$shared" --component driverupgrade_dev
  DESTDIR=$parts/driverupgrade-tools cmake --install "$release" --component upgradectl
  lib=$(dirname "$(find "$parts/$library" -name 'libdriverupgrade_core.so.*')")
  "$triplet-strip" --strip-unneeded "$lib"/*.so.*
  "$triplet-strip" "$parts/driverupgrade-tools/usr/bin/upgradectl"
  # An error in an argument would not end the script.
  libraries_need=$(needed "$lib" "$lib"/*.so."$version")
  tools_need=$(needed "$lib" "$parts/driverupgrade-tools/usr/bin/upgradectl")
  debian_package "$library" libs "$libraries_need" "rolls containerized drivers over Kubernetes: libraries"
  debian_package libdriverupgrade-dev libdevel "$library (= $version), libabsl-dev" \
    "rolls containerized drivers over Kubernetes: headers and CMake files"
  debian_package driverupgrade-tools admin "$tools_need" \
    "rolls containerized drivers over Kubernetes: upgradectl, also as a plugin of kubectl"
}

sbom() {
  scripts/release/sbom.py "$out" "$url" "$work/packages"
}

# Builds all artifacts that depend on the selected architecture.
for_architecture() {
  artefact "programs for $arch, compiled" compile_programs
  artefact "shared libraries for $arch, compiled" compile_libraries
  artefact "images for $arch" images
  artefact "kubectl plugin for $arch" plugin
  artefact "Debian packages for $arch" debian_packages
}

echo "release: driverupgrade $version, commit $(git rev-parse HEAD)"
arch=''
artefact "source archive" source_archive
artefact "charts" charts
artefact "CRDs" crds
artefact "Go module" go_module
artefact "Conan recipe" conan_recipe
artefact "vcpkg port" vcpkg_port
select_architecture "$machine"
for_architecture
if [ "$machine" = arm64 ]; then
  echo "release: amd64: not built: only arm64 can be built on another machine"
else
  select_architecture arm64
  artefact "Debian root for $arch" foreign_root
  [ ! -d "$root/usr" ] || for_architecture
fi
arch=''
artefact "manifest for krew" krew_manifest
artefact "SBOM" sbom

cd "$out"
find . -type f -printf '%P\n' | sort | xargs sha256sum >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" .
if [ -n "$RELEASE_KEY" ]; then
  openssl pkeyutl -sign -rawin -inkey "$RELEASE_KEY" -in SHA256SUMS -out SHA256SUMS.sig
  openssl pkey -in "$RELEASE_KEY" -pubout -out signing-key.pem
else
  echo "release: signature: not made: no --sign KEYFILE"
fi
find . -type f -printf '%s %P\n' | sort -k2 | numfmt --to=iec --padding=7
echo "release: $out"
