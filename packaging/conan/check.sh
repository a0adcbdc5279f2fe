#!/usr/bin/env bash
# Creates the Conan package in three variants: static, shared, and without one of its HTTP libraries. Runs test_package
# on each variant, and builds and runs the consumer of docs/packaging.md with the third variant. Conan comes from PyPI
# into a virtual environment below build/. The dependencies come from the distribution's packages, so the recipes of the
# dependencies contain no files (offline/conanfile.py). No remote is used. Logs are in build/conan/logs. Exit code 77:
# Conan is not available, so nothing was checked.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/install-deps.sh >&2
work=$PWD/build/conan offline=$PWD/packaging/conan/offline
mkdir -p "$work/logs"
export CONAN_HOME=$work/home
conan=$(packaging/conan/home.sh)
conan() { "$conan" "$@"; }

if command -v ccache >/dev/null; then
  # ccache reuses the compiler results of one package for the next package, although Conan builds each package in a
  # separate directory.
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$CONAN_HOME CCACHE_NOHASHDIR=1
fi

# test_package is built here, not in the source tree.
settings=(
  --conf "tools.build:jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
  --conf "tools.cmake.cmake_layout:test_folder=$work/test_package"
  --conf "tools.cmake.cmaketoolchain:user_presets="
)

version=$(sed -n 's/.*_VERSION_STRING "\(.*\)"/\1/p' include/driverupgrade/version.h)

# create NAME [OPTION...]: includes test_package.
create() {
  local name=$1 began=$SECONDS log=$work/logs/$1.log
  shift
  rm -rf "$work/test_package"
  if ! conan create . --profile:all "$offline/profile" --build=missing "${settings[@]}" "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "check: conan create $*: failed, see $log" >&2
    return 1
  fi
  echo "conan create $name: passed, $((SECONDS - began)) s"
}

# A project that does not use Conan itself, with the conanfile.txt from docs/packaging.md.
consumer() {
  local began=$SECONDS log=$work/logs/consumer.log build=$work/consumer consumers=tests/package/consumers
  rm -rf "$build"
  if ! {
    conan install "$consumers/conan" --output-folder "$build" --profile:all "$offline/profile" --build=never "${settings[@]}" &&
      cmake -G Ninja -S "$consumers/find_package_core" -B "$build/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_TOOLCHAIN_FILE="$build/conan_toolchain.cmake" &&
      cmake --build "$build/build" &&
      "$build/build/consumer"
  } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "check: a consumer with conanfile.txt: failed, see $log" >&2
    return 1
  fi
  echo "conan install, consumer: passed, $((SECONDS - began)) s"
}
create static
create shared -o '&:shared=True'
create without-cpprest -o '&:with_cpprest=False'
consumer
create without-curl -o '&:with_curl=False' -o '&:with_prometheus=False'
conan list "driverupgrade/$version" --format=json 2>/dev/null | grep -q "\"driverupgrade/$version\"" ||
  { echo "check: the package does not have the version $version of version.h" >&2; exit 1; }
