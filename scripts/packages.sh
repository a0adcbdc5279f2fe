#!/usr/bin/env bash
# Builds the library as a static and as a shared library, installs it, and builds and runs a consumer in each way that
# docs/packaging.md describes. Prints a table, and fails if any of these ways failed. Logs are in build/packages/logs.
# Builds in the same way as the preset `release`, so that ccache already contains every object of the library after
# scripts/test.sh. Programs that do not compile the library are not optimized, because nothing is measured here.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh >&2
source=$PWD work=$PWD/build/packages logs=$PWD/build/packages/logs
consumers=$source/tests/package/consumers
rm -rf "$work" "$work"-*
mkdir -p "$logs"
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
# The same ccache settings as in CMakePresets.json. Every build directory here has the same depth as build/release, so
# that the compiler arguments are identical.
export CCACHE_BASEDIR=$source CCACHE_NOHASHDIR=1

declare -A results seconds
ways=() failed=0

# check WAY static|shared COMMAND...: runs the command, and records its result and duration for the table.
check() {
  local key=$1/$2 log=$logs/${1// /-}-$2.log began=$SECONDS
  [ -n "${results[$1/static]:-}" ] || ways+=("$1")
  shift 2
  results[$key]=passed
  # Uses a separate shell with -e, because -e would have no effect inside a condition.
  bash -euo pipefail -c '"$@"' check "$@" >"$log" 2>&1 </dev/null || {
    results[$key]=FAILED failed=1
    echo "packages: $key failed, see $log" >&2
    tail -n 30 "$log" >&2
  }
  seconds[$key]=$((SECONDS - began))
}

shared_libs() { [ "$1" = shared ] && echo ON || echo OFF; }

# build_library KIND: builds all components, and installs them into the prefix for that kind.
build_library() {
  cmake --preset release -B "$work-$1" -DBUILD_SHARED_LIBS="$(shared_libs "$1")" \
    -DDRIVERUPGRADE_BUILD_TESTS=OFF -DDRIVERUPGRADE_BUILD_EXAMPLES=OFF
  cmake --build "$work-$1"
  cmake --install "$work-$1" --prefix "$work/$1-prefix"
}

header_sets() { cmake --build "$work-$1" --target all_verify_interface_header_sets; }

exported_symbols() { "$source/tests/package/exported_symbols.sh" "$work/$1-prefix"/lib*/*.so; }

# Installed files must not contain paths of the machine that built them.
relocatable() {
  local files
  files=$(find "$work/$1-prefix" -name '*.cmake' -o -name '*.pc')
  # shellcheck disable=SC2086  # one word each: there is no space below build/packages
  ! grep -nE "(^|[\"; =(])/[A-Za-z]" $files
}

# The installed files must have the version in version.h. packaging/vcpkg/check.py checks the version of the manifests
# for vcpkg, and packaging/conan/check.sh checks the version of Conan's package.
one_version() {
  local version file
  version=$(sed -n 's/.*_VERSION_STRING "\(.*\)"/\1/p' "$source/include/driverupgrade/version.h")
  for file in "$work/$1-prefix"/lib*/pkgconfig/*.pc; do
    grep -xH "Version: $version" "$file"
  done
  grep "PACKAGE_VERSION \"$version\"" "$work/$1-prefix"/lib*/cmake/driverupgrade/driverupgradeConfigVersion.cmake
  [ "$1" = static ] || for file in "$work/$1-prefix"/lib*/*.so; do
    [ "$(basename "$(readlink -f "$file")")" = "$(basename "$file").$version" ]
    # The C interface has an ABI with its own number (ADR 0012); the other libraries do not have a stable ABI (ADR
    # 0011).
    case $(basename "$file") in
      libdriverupgrade_c.so) readelf -d "$file" | grep -F "[libdriverupgrade_c.so.1]" ;;
      *) readelf -d "$file" | grep -F "[$(basename "$file").$version]" ;;
    esac
  done
}

# Inside another project, only the library must be built, and no setting of the project may change.
quiet_inside() {
  local build=$work-consumer option
  rm -rf "$build"
  cmake -G Ninja -S "$consumers/add_subdirectory" -B "$build" -DDRIVERUPGRADE_SOURCE="$source"
  for option in BUILD_TESTS BUILD_EXAMPLES INSTALL HARDENING WARNINGS_AS_ERRORS BUILD_FUZZ BUILD_PLANTED; do
    grep -x "DRIVERUPGRADE_$option:BOOL=OFF" "$build/CMakeCache.txt"
  done
  ! grep -E "^(DRIVERUPGRADE_BUILD_BENCH:.*=ON|BUILD_SHARED_LIBS|CMAKE_CXX_STANDARD|CMAKE_EXPORT_COMPILE_COMMANDS:BOOL=ON)" \
    "$build/CMakeCache.txt"
}

# consumer DIRECTORY KIND [OPTION...]: builds and runs one of tests/package/consumers.
consumer() {
  local build=$work-consumer
  rm -rf "$build"
  cmake -G Ninja -S "$consumers/$1" -B "$build" -DBUILD_SHARED_LIBS="$(shared_libs "$2")" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" "${@:3}"
  cmake --build "$build" --target consumer
  "$build/consumer"
}

# installed DIRECTORY KIND PREFIX [OPTION...]: builds and runs a consumer that uses the library installed in PREFIX.
installed() { consumer "$1" "$2" -DCMAKE_PREFIX_PATH="$3" "${@:4}"; }

# sources DIRECTORY KIND: builds and runs a consumer whose own build compiles the library, with the same options as
# build_library.
sources() {
  local flags
  flags=$(sed -n 's/^CMAKE_CXX_FLAGS_RELWITHDEBINFO:[^=]*=//p' "$work-$2/CMakeCache.txt")
  consumer "$1" "$2" -DDRIVERUPGRADE_SOURCE="$source" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$flags" -DDRIVERUPGRADE_HARDENING=ON -DDRIVERUPGRADE_WARNINGS_AS_ERRORS=ON
}

# Disables the lookup of all packages that the other components need, because core must not need them.
core_alone() {
  local option hidden=()
  for option in cpprestsdk Boost OpenSSL CURL prometheus-cpp RapidJSON; do
    hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$option=ON")
  done
  installed find_package_core "$1" "$2" "${hidden[@]}"
}

moved_prefix() {
  mv "$work/$1-prefix" "$work/$1-moved"
  installed find_package "$1" "$work/$1-moved"
}

# A program with a different abseil must not compile, and the error must name the reason.
other_abseil() {
  cp -r "$2" "$work/$1-other"
  sed -i 's/ABSL_LTS_RELEASE_VERSION == /&1/' "$(find "$work/$1-other" -name abseil_abi.h)"
  ! installed find_package_core "$1" "$work/$1-other" >"$work/other.log" 2>&1
  grep "driverupgrade was built with abseil" "$work/other.log"
}

pkg_config() {
  local build=$work-consumer lib
  rm -rf "$build"
  lib=$(dirname "$(dirname "$(find "$2" -name driverupgrade-core.pc)")")
  mkdir "$build"
  export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
  CXXFLAGS=-O0 make -C "$build" -f "$consumers/pkg_config/Makefile" VPATH="$consumers/pkg_config"
  "$build/consumer"
}

# Only the C interface, with a C compiler and without C++.
pkg_config_c() {
  local build=$work-consumer lib
  rm -rf "$build"
  lib=$(dirname "$(dirname "$(find "$2" -name driverupgrade-c.pc)")")
  mkdir "$build"
  export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
  # shellcheck disable=SC2046  # one word each
  cc -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$build/consumer" "$source/tests/package/c/main.c" $(pkg-config --cflags --libs driverupgrade-c)
  "$build/consumer" | grep nvidia.com/gpu-driver-upgrade-state
}

export source work consumers
export -f shared_libs build_library header_sets exported_symbols relocatable one_version quiet_inside
export -f consumer installed sources core_alone moved_prefix other_abseil pkg_config pkg_config_c

for kind in static shared; do
  prefix=$work/$kind-prefix
  check "library, built and installed" $kind build_library $kind
  if [ $kind = static ]; then
    check "each header compiles alone" $kind header_sets $kind
    check "options off inside another project" $kind quiet_inside
  else
    check "exported symbols" $kind exported_symbols $kind
  fi
  check "no path of this machine installed" $kind relocatable $kind
  check "one version in all that is installed" $kind one_version $kind
  check "find_package, all components" $kind installed find_package $kind "$prefix"
  check "find_package, moved prefix" $kind moved_prefix $kind
  check "find_package, core only" $kind installed find_package_core $kind "$work/$kind-moved"
  check "find_package, core, no cpprestsdk" $kind core_alone $kind "$work/$kind-moved"
  check "find_package, other abseil" $kind other_abseil $kind "$work/$kind-moved"
  check "pkg-config" $kind pkg_config $kind "$work/$kind-moved"
  check "pkg-config, from C" $kind pkg_config_c $kind "$work/$kind-moved"
  check "add_subdirectory" $kind sources add_subdirectory $kind
  check "FetchContent" $kind sources fetch_content $kind
done

# cell KEY: prints the result and the duration of the check with this key (WAY/static or WAY/shared).
cell() { echo "${results[$1]:--}${seconds[$1]:+ ${seconds[$1]} s}"; }
printf '\n%-38s %-12s %-12s\n' way static shared
for way in "${ways[@]}"; do
  printf '%-38s %-12s %-12s\n' "$way" "$(cell "$way/static")" "$(cell "$way/shared")"
done
exit $failed
