#!/usr/bin/env bash
# Builds the artifacts of RELEASE_VERSION from the clone that contains this script: build.sh DIRECTORY.
# scripts/release.sh calls it. With the same installed packages, the artifacts have the same bytes. All times are
# SOURCE_DATE_EPOCH, and archives are sorted and belong to root. Programs have no build ID, because it would be a hash
# of debug information that contains directory names.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1 work=$PWD/build/release-parts version=$RELEASE_VERSION
arch=$(dpkg --print-architecture)
url=${RELEASE_URL:-https://driverupgrade.example/releases/v$version}
programs=(gpu_operator ofed_operator safe_load_init upgradectl openshift_preflight driver_manager)
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 LC_ALL=C TZ=UTC
mkdir -p "$work/packages"

# artefact NAME FUNCTION: calls FUNCTION, which writes into $out. Exit code 77: the artifact cannot be built here, and
# the last line of output is the reason.
artefact() {
  local began=$SECONDS log=$work/$2.log status
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

# compile DIRECTORY OPTION...: configures build/DIRECTORY with the preset `release` and the given options.
compile() {
  cmake --preset release -B "build/$1" -DDRIVERUPGRADE_BUILD_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_EXE_LINKER_FLAGS=-Wl,--build-id=none -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--build-id=none "${@:2}"
}

compile_programs() {
  compile release
  cmake --build build/release --target "${programs[@]}"
}

compile_libraries() {
  compile shared -DBUILD_SHARED_LIBS=ON -DDRIVERUPGRADE_BUILD_EXAMPLES=OFF
  cmake --build build/shared
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
debian_versions() { dpkg-query -W -f='${Package} ${Version}\n' "$@" | sort -u; }

# The images contain libraries of the Debian base that image.sh creates. Their versions can differ from the versions on
# this machine.
images() {
  local image
  scripts/image.sh --oci "$work"
  for image in driverupgrade driver-manager; do
    mv "$work/$image.tar" "$out/$image-$version-oci-$arch.tar"
  done
  tar -xOf build/image/base.tar ./var/lib/dpkg/status |
    awk '/^Package: / { name = $2 } /^Version: / { print name, $2 }' | sort -u >"$work/base"
  tr , '\n' <build/image/base.packages | sort -u | join - "$work/base" >"$work/packages/images"
}

# The kubectl plugin with all libraries that it loads, including the loader, so that it runs on any distribution.
plugin() {
  local root=$work/plugin packages package
  local archive=$out/upgradectl-$version-linux-$arch.tar.gz
  mkdir -p "$root/lib" "$root/licenses"
  strip -o "$root/lib/upgradectl" build/release/bin/upgradectl
  ldd build/release/bin/upgradectl | awk '$2 == "=>" { print $3 } $1 ~ /^\// && /\(0x/ { print $1 }' | xargs cp -L -t "$root/lib"
  mv "$root"/lib/ld-linux-*.so.* "$root/lib/loader"
  cat >"$root/kubectl-driverupgrade" <<'SCRIPT'
#!/bin/sh
lib=$(dirname "$(readlink -f "$0")")/lib
exec "$lib/loader" --library-path "$lib" --argv0 upgradectl "$lib/upgradectl" "$@"
SCRIPT
  chmod +x "$root/kubectl-driverupgrade"
  cp LICENSE "$root/LICENSE"
  packages=$(scripts/debian-packages.sh build/release/bin/upgradectl)
  for package in $packages; do cp -L "/usr/share/doc/$package/copyright" "$root/licenses/$package"; done
  # shellcheck disable=SC2086  # one word each
  debian_versions $packages >"$work/packages/plugin"
  (cd "$root" && pack "$archive" . *)
  cat >"$out/driverupgrade.yaml" <<MANIFEST
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
  - selector:
      matchLabels:
        os: linux
        arch: $arch
    uri: $url/$(basename "$archive")
    sha256: $(sha256sum "$archive" | cut -d' ' -f1)
    bin: kubectl-driverupgrade
MANIFEST
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

# debian_package NAME SECTION DEPENDS SUMMARY: builds a package from the files in $work/NAME.
debian_package() {
  local root=$work/$1
  mkdir -p "$root/usr/share/doc/$1" "$root/DEBIAN"
  cp LICENSE "$root/usr/share/doc/$1/copyright"
  cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Version: $version
Architecture: $arch
Maintainer: The authors of driverupgrade <driverupgrade@driverupgrade.example>
Installed-Size: $(find "$root/usr" -type f -printf '%s\n' | awk '{ bytes += $1 } END { print int(bytes / 1024) + 1 }')
Depends: $3
Section: $2
Priority: optional
Description: $4
CONTROL
  dpkg-deb --root-owner-group --build -Zxz --threads-max=1 "$root" "$out/$1_${version}_$arch.deb"
}

# needed DIRECTORY FILE...: prints the packages that these programs need, except our own libraries, which are in
# DIRECTORY.
needed() {
  mkdir -p "$work/shlibs/debian"
  echo "Source: driverupgrade" >"$work/shlibs/debian/control"
  (cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info "-l$1" "${@:2}") | sed -n 's/^shlibs:Depends=//p'
}

debian_packages() {
  local library=libdriverupgrade$version lib
  DESTDIR=$work/$library cmake --install build/shared --component driverupgrade_rt
  DESTDIR=$work/libdriverupgrade-dev cmake --install build/shared --component driverupgrade_dev
  DESTDIR=$work/driverupgrade-tools cmake --install build/release --component upgradectl
  lib=$(dirname "$(find "$work/$library" -name 'libdriverupgrade_core.so.*')")
  strip --strip-unneeded "$lib"/*.so.*
  strip "$work/driverupgrade-tools/usr/bin/upgradectl"
  debian_package "$library" libs "$(needed "$lib" "$lib"/*.so."$version")" "rolls containerized drivers over Kubernetes: libraries"
  debian_package libdriverupgrade-dev libdevel "$library (= $version), libabsl-dev" \
    "rolls containerized drivers over Kubernetes: headers and CMake files"
  debian_package driverupgrade-tools admin "$(needed "$lib" "$work/driverupgrade-tools/usr/bin/upgradectl")" \
    "rolls containerized drivers over Kubernetes: upgradectl, also as a plugin of kubectl"
}

sbom() {
  # The packages with which the programs were compiled.
  debian_versions g++-12 libc6-dev libabsl-dev libcli11-dev libcpp-httplib-dev libcpprest-dev libcurl4-openssl-dev libfmt-dev \
    libssl-dev libyaml-cpp-dev prometheus-cpp-dev rapidjson-dev >"$work/packages/build"
  scripts/release/sbom.py "$out" "$url" "$work/packages"
}

echo "release: driverupgrade $version, commit $(git rev-parse HEAD), $arch"
case $arch in
  amd64) other=arm64 ;;
  *) other=amd64 ;;
esac
echo "release: $other: not built: programs are compiled for the machine's own architecture; run the same command on an $other machine"
artefact "programs, compiled" compile_programs
artefact "shared libraries, compiled" compile_libraries
artefact "source archive" source_archive
artefact "images" images
artefact "charts" charts
artefact "CRDs" crds
artefact "kubectl plugin" plugin
artefact "Go module" go_module
artefact "Conan recipe" conan_recipe
artefact "vcpkg port" vcpkg_port
artefact "Debian packages" debian_packages
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
