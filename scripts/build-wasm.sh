#!/usr/bin/env bash
# Compiles the C interface into two WebAssembly modules without imports, and translates the modules to plain Go.
# go/internal/wasm/driverupgrade.go contains the engines, and go/internal/forecast/driverupgrade.go contains du_plan,
# du_simulate and du_preflight. Operators import only the first package. The same sources produce the same bytes in any
# directory. The digests of the sources, for C and C++ without comments, are committed with each file.
#
#   scripts/build-wasm.sh               overwrites the committed files
#   scripts/build-wasm.sh --check       takes seconds: fails if a source has changed since, or a file is larger than allowed
#   scripts/build-wasm.sh --reproduce   builds, and fails if a committed file differs
#
# BUILD=DIRECTORY: working directory (default: build/wasm). The first run needs PyPI, Debian's source packages and Go's module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
work=$(realpath -m "${BUILD:-build/wasm}")
modules=(wasm forecast)
jobs=$(nproc)
mkdir -p "$work"/{download,object,overlay/driverupgrade,overlay/__algorithm}

committed() { echo "go/internal/$1/driverupgrade.go"; }
digests() { echo "go/internal/$1/sources.sha256"; }

# Exit code 77: a required download is not available on this machine.
unreachable() {
  echo "build-wasm: $1 cannot be reached" >&2
  exit 77
}

# Fetches clang with libc++ and wasi-libc. The version and the checksum are fixed.
fetch_compiler() {
  [ ! -x "$work/zig/ziglang/zig" ] || return 0
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --no-deps --require-hashes --target "$work/zig" -r scripts/wasm/requirements.txt ||
    unreachable PyPI
}

# Fetches Debian's source packages from the mirrors that this machine's apt uses. Only the upstream archives are used.
fetch_sources() {
  (cd "$work/download" && sha256sum --quiet --check "$root/scripts/wasm/sources.sha256") >/dev/null 2>&1 && return
  local apt=$work/apt
  mkdir -p "$apt/lists/partial" "$apt/parts"
  if [ -f /etc/apt/sources.list.d/debian.sources ]; then
    sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$apt/parts/debian.sources"
  else
    sed -n 's/^deb\(-src\)\? /deb-src /p' /etc/apt/sources.list >"$apt/parts/debian.list"
  fi
  local options=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts"
    -o "Dir::State::Lists=$apt/lists" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update || unreachable "Debian's sources"
  (cd "$work/download" && apt-get "${options[@]}" source --download-only abseil fmtlib rapidjson &&
    sha256sum --quiet --check "$root/scripts/wasm/sources.sha256")
}

unpack_sources() {
  rm -rf "$work/source" && mkdir "$work/source"
  local archive
  for archive in "$work"/download/*.orig.tar.gz; do tar -xzf "$archive" -C "$work/source"; done
  mv "$work"/source/abseil-* "$work/source/absl"
  mv "$work"/source/fmtlib-* "$work/source/fmt"
  mv "$work"/source/rapidjson-* "$work/source/rapidjson"
  patch --quiet -d "$work/source/rapidjson" -p1 <scripts/wasm/patches/rapidjson.patch
  cp "$libcxx/include/__algorithm/sort.h" "$work/overlay/__algorithm/"
  patch --quiet -d "$work/overlay" -p1 <scripts/wasm/patches/libcxx.patch
  # The original header would compare the abseil of the build with the abseil of the consumer, which has no abseil here.
  echo '#pragma once' >"$work/overlay/driverupgrade/abseil_abi.h"
}

# Lists the sources of the modules, one "KIND FOLDER FILE" per line. The linker leaves out unused functions.
sources() {
  local file
  for file in algorithm any atomic call_once charconv chrono condition_variable condition_variable_destructor \
    error_category exception functional hash memory memory_resource mutex mutex_destructor new new_handler \
    new_helpers optional stdexcept string system_error thread typeinfo variant vector verbose_abort; do
    echo "cxx $libcxx/src $file.cpp"
  done
  for file in abort_message cxa_aux_runtime cxa_default_handlers cxa_exception_storage cxa_guard cxa_handlers \
    cxa_noexception cxa_thread_atexit cxa_vector fallback_malloc private_typeinfo stdlib_exception \
    stdlib_new_delete stdlib_stdexcept stdlib_typeinfo; do
    echo "cxxabi $libcxxabi/src $file.cpp"
  done
  for file in $(cd "$work/source/absl" && ls absl/{base,hash,numeric,strings,synchronization,time}{,/internal}/*.cc \
    absl/status/*.cc absl/types/*.cc absl/time/internal/cctz/src/*.cc absl/container/internal/raw_hash_set.cc \
    absl/debugging/stacktrace.cc absl/debugging/internal/{address,elf,stack,vdso}*.cc \
    absl/profiling/internal/exponential_biased.cc 2>/dev/null |
    grep -vE '_test|test_|testing|benchmark|scoped_set_env|pow10_helper|print_hash_of|stack_consumption|time_tool|time_zone_(if|info|libc|posix)\.cc'); do
    echo "absl $work/source/absl $file"
  done
  for file in "${modules[@]}"; do own_sources "$file"; done | LC_ALL=C sort -u |
    sed "s|^src/|ours $root/src |; s|^scripts/wasm/|ours $root/scripts/wasm |"
}

# Lists the project's sources of a module: driverupgrade::pure (src/CMakeLists.txt), and the files around it. The simulation runs
# the engine of the library on the fake cluster, in one thread.
own_sources() {
  local file
  {
    case $1 in
      wasm) pure_sources ; (cd src && ls c/{driverupgrade,engine}.cc whatif/*.cc) ;;
      forecast)
        pure_sources | grep -vE '^(host|kubernetes)/'
        (cd src && ls c/{driverupgrade,forecast}.cc write/worker_pool.cc cluster/*.cc \
          read/{hook_calls,hook_runner,listed_objects,pods_by_node,snapshot_builder,watch_cache,watch_follower,watch_store}.cc \
          engine/{cache_reader,configuration_check,ledger_sender,upgrade_engine}.cc observe/observer.cc \
          testing/{fake_*,gang_controller,watch_bell}.cc write/{event_writer,plan_executor,send_requests}.cc &&
          find whatif -name '*.cc')
        ;;
    esac
    echo read/revision_comparison.cc
    echo read/view_scope.cc
  } | grep -v fake_cluster_expressions | LC_ALL=C sort -u | while read -r file; do echo "src/$file"; done
  printf 'scripts/wasm/%s\n' policy_yaml.cc host.c utc.cc
  [[ $1 != forecast ]] || printf 'scripts/wasm/%s\n' no_expressions.cc no_threads.c
}

pure_sources() { sed -n '/driverupgrade_add_objects(pure_/,/LIBRARIES/s/^ *\([a-z_/]*\.cc\)$/\1/p' src/CMakeLists.txt; }

# digest MODULE LIST: prints the digests of the files from which the module is built: the files in the list, each
# source, and the build scripts. Comments in C and C++ do not count.
digest() {
  local file
  {
    cat "$2"
    own_sources "$1"
    ls scripts/build-wasm.sh scripts/wasm/{go.mod,go.sum,requirements.txt,sources.sha256} scripts/wasm/{patches,shrink}/*
    committed "$1"
  } | LC_ALL=C sort -u | while read -r file; do
    case $file in
      *.cc | *.h | *.c) g++ -w -fpreprocessed -dD -E -P -x c++ "$file" | tr -s '[:space:]' ' ' ;;
      *) cat "$file" ;;
    esac | sha256sum | sed "s|-$|$file|"
  done
}

# A Go compiler takes more than a minute for 5 MiB. Only programs that simulate contain the second module.
check_size() {
  local size size_max=5242880
  [[ $1 != forecast ]] || size_max=8388608
  size=$(wc -c <"$(committed "$1")")
  ((size <= size_max)) || { echo "build-wasm: $(committed "$1") has $size bytes, at most $size_max are allowed" >&2; exit 1; }
}

check_digests() {
  diff "$(digests "$1")" <(digest "$1" <(sed 's/^[^ ]* *//' "$(digests "$1")")) >&2 ||
    { echo "build-wasm: these files have changed since $(committed "$1") was built: run scripts/build-wasm.sh" >&2; exit 1; }
}

# compile KIND FOLDER FILE
compile() {
  local object=$work/object/$1_${3//\//_}.o driver=c++
  local options=(-target wasm32-wasi -Oz -ffunction-sections -fdata-sections -fno-sanitize=all
    "-ffile-prefix-map=$work=." "-ffile-prefix-map=$root=.")
  local cxx=(-fexceptions -fcxx-exceptions -fignore-exceptions -nostdinc++ -DNDEBUG
    -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_SIGNAL
    # libc++ as for threads, so that std::stop_token and std::mutex exist; wasi-libc's pthreads support a single thread.
    -D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1 -D_LIBCPP_HAS_THREADS=1 -D_LIBCPP_HAS_THREAD_API_PTHREAD=1
    -D_LIBCPP_HAS_MUSL_LIBC=1 -D_LIBCPP_HAS_LOCALIZATION=1 -D_LIBCPP_HAS_WIDE_CHARACTERS=1 -D_LIBCPP_HAS_UNICODE=1
    -D_LIBCPP_HAS_MONOTONIC_CLOCK=1 -D_LIBCPP_HAS_FILESYSTEM=0 -D_LIBCPP_HAS_RANDOM_DEVICE=0 -D_LIBCPP_HAS_TERMINAL=0
    -D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0 -D_LIBCPP_HAS_NO_STD_MODULES -D_LIBCPP_PSTL_BACKEND_SERIAL
    -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE
    -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE
    -D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS -D_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS
    "-I$work/overlay" "-I$libcxx/include" "-I$libcxxabi/include")
  local library=(-std=c++23 -w -D_LIBCPP_BUILDING_LIBRARY -DLIBCXX_BUILDING_LIBCXXABI
    "-I$libcxx/src" "-I$libcxx/src/include" "-I$libcxx/libc")
  local silent=(-Dvsnprintf=host_vsnprintf -Dsnprintf=host_snprintf -Dstrftime=host_strftime)
  case $1 in
    cxx) options+=("${silent[@]}" "${cxx[@]}" "${library[@]}") ;;
    cxxabi) options+=("${cxx[@]}" "${library[@]}" -D_LIBCXXABI_BUILDING_LIBRARY) ;;
    absl)
      options+=("${silent[@]}" "${cxx[@]}" -std=c++20 -w -I.)
      # As with Emscripten, signals cannot be masked.
      [[ $3 != */thread_identity.cc ]] || options+=(-D__EMSCRIPTEN__)
      ;;
    ours | prelude) options+=(-MMD -MF "$work/object/$1_${3//\//_}.d"
      "${cxx[@]}" -std=c++20 -Wno-unused-parameter "-I$root/include" "-I$root/src"
      # Without locales: the library groups no digits, and formats neither floating point nor 128-bit integers.
      -DFMT_HEADER_ONLY -DFMT_EXCEPTIONS=0 -DFMT_STATIC_THOUSANDS_SEPARATOR=44
      -DFMT_USE_FLOAT=0 -DFMT_USE_DOUBLE=0 -DFMT_USE_LONG_DOUBLE=0 -DFMT_USE_INT128=0
      "-isystem$work/source/absl" "-isystem$work/source/fmt/include" "-isystem$work/source/rapidjson/include") ;;
  esac
  case $1 in
    ours) options+=(-include-pch "$work/prelude.pch") ;;
    prelude) options+=(-x c++-header -Xclang -fno-pch-timestamp) object=$work/prelude.pch ;;
  esac
  # For developers of the module: KEEP_OBJECTS=1 compiles only missing objects.
  [ -z "${KEEP_OBJECTS:-}" ] || [ ! -f "$object" ] || return 0
  cd "$2"
  if [[ $3 == *.c ]]; then
    driver=cc options=(-target wasm32-wasi -Oz -w)
  fi
  "$work/zig/ziglang/zig" "$driver" "${options[@]}" -c "$3" -o "$object"
}

# Lists the functions that a module exports to Go.
exports() {
  case $1 in
    wasm) grep -oE '\bdu_[a-z_]+\(' include/driverupgrade/c/driverupgrade.h | tr -d '(' | LC_ALL=C sort -u | grep -vE '^du_(plan|simulate|preflight)$' ;;
    forecast) printf 'du_%s\n' alloc free plan preflight simulate ;;
  esac
}

# Lists the objects of a module, with all objects of libraries.
objects() {
  {
    (cd "$work/object" && ls -- *.o | grep -v '^ours_')
    own_sources "$1" | sed 's|^src/||; s|^scripts/wasm/||; s|/|_|g; s|.*|ours_&.o|'
  } | LC_ALL=C sort -u
}

link() {
  (cd "$work/object" && "$work/zig/ziglang/zig" c++ -target wasm32-wasi -mexec-model=reactor -nostdlib++ -Oz -s \
    -o "$work/$1.wasm" $(cd "$root" && objects "$1") \
    -lwasi-emulated-mman -lwasi-emulated-signal -lwasi-emulated-process-clocks \
    -Wl,--gc-sections -Wl,--strip-all -Wl,-z,stack-size=1048576 $(cd "$root" && printf -- '-Wl,--export=%s ' $(exports "$1")))
}

# The translator's output is verbose; the second step halves its size.
translate() {
  (cd scripts/wasm && "$go" tool wasm2go -pkg "$1" -o "$work/translated-$1.go" "$work/$1.wasm" &&
    "$go" run ./shrink "$work/translated-$1.go" >"$work/$1.go")
  ! grep -q 'wasi_snapshot' "$work/$1.go" || { echo "build-wasm: the module $1 has imports" >&2; return 1; }
}

if [ "${1:-}" = --check ]; then
  for module in "${modules[@]}"; do
    check_size "$module"
    check_digests "$module"
    echo "build-wasm: no source has changed since $(committed "$module") was built"
  done
  exit 0
fi

go=$(scripts/find-go.sh)
fetch_compiler
export ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache
libcxx=$work/zig/ziglang/lib/libcxx libcxxabi=$work/zig/ziglang/lib/libcxxabi
fetch_sources
unpack_sources
[ -n "${KEEP_OBJECTS:-}" ] || rm -f "$work"/object/*
export -f compile
export root work libcxx libcxxabi
rm -f "$work/prelude.pch"
(compile prelude "$root/scripts/wasm" prelude.h)
sources | xargs -P "$jobs" -L 1 bash -euo pipefail -c 'compile "$@"' compile
for module in "${modules[@]}"; do
  link "$module"
  translate "$module"
done

if [ "${1:-}" = --reproduce ]; then
  for module in "${modules[@]}"; do
    check_size "$module"
    cmp "$work/$module.go" "$(committed "$module")"
    echo "build-wasm: $(committed "$module") matches the sources"
  done
  exit 0
fi
if grep -qs '/include/driverupgrade/' "$work"/object/*.d && ! grep -qs "$root/include/" "$work"/object/*.d; then
  echo "build-wasm: the objects in $work belong to another checkout: build without KEEP_OBJECTS" >&2
  exit 1
fi
for module in "${modules[@]}"; do
  cp "$work/$module.go" "$(committed "$module")"
  headers=$(cd "$work/object" && cat prelude_*.d && objects_of=$(cd "$root" && objects "$module") && for object in $objects_of; do cat "${object%.o}.d" 2>/dev/null || true; done)
  digest "$module" <(tr -s ' \\' '\n' <<<"$headers" | sed -n "s|^$root/||p" | grep -E '^(include|src|scripts)/') >"$(digests "$module").new"
  mv "$(digests "$module").new" "$(digests "$module")"
  wc -c "$work/$module.wasm" "$work/translated-$module.go" "$(committed "$module")"
done
