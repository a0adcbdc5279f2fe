// Replaces the functions that wasi-libc would import from a host. The module imports nothing: it cannot reach a file,
// clock, environment or stream, and an attempt to exit traps.
#include <stdarg.h>
#include <stdint.h>

enum { kNotSupported = 52 };

#define ABSENT(name, ...) \
  int32_t __imported_wasi_snapshot_preview1_##name(__VA_ARGS__) { return kNotSupported; }

ABSENT(clock_time_get, int32_t a, int64_t b, int32_t c)
ABSENT(environ_get, int32_t a, int32_t b)
ABSENT(environ_sizes_get, int32_t a, int32_t b)
ABSENT(fd_close, int32_t a)
ABSENT(fd_fdstat_get, int32_t a, int32_t b)
ABSENT(fd_pread, int32_t a, int32_t b, int32_t c, int64_t d, int32_t e)
ABSENT(fd_read, int32_t a, int32_t b, int32_t c, int32_t d)
ABSENT(fd_seek, int32_t a, int64_t b, int32_t c, int32_t d)
ABSENT(fd_write, int32_t a, int32_t b, int32_t c, int32_t d)
ABSENT(poll_oneoff, int32_t a, int32_t b, int32_t c, int32_t d)
ABSENT(sched_yield, void)

_Noreturn void __imported_wasi_snapshot_preview1_proc_exit(int32_t code) { __builtin_trap(); }

// The library is compiled without exceptions, so a throw traps here.
void* __cxa_allocate_exception(__SIZE_TYPE__ size) { __builtin_trap(); }
void __cxa_throw(void* exception, void* type, void (*destroy)(void*)) { __builtin_trap(); }

// libc++abi would print a message through streams, which close files.
_Noreturn void __cxa_pure_virtual(void) { __builtin_trap(); }
_Noreturn void __cxa_deleted_virtual(void) { __builtin_trap(); }

// Replace functions of libc, because libc's printf would take 80 kB of Go; build-wasm.sh defines the original names as
// these names. Libraries use the functions only for texts that are written to streams, such as abseil's message before
// it aborts, and to convert times that the library does not use.
int host_vsnprintf(char* out, __SIZE_TYPE__ size, const char* format, va_list arguments) {
  if (size > 0) *out = 0;
  return 0;
}
int host_snprintf(char* out, __SIZE_TYPE__ size, const char* format, ...) {
  if (size > 0) *out = 0;
  return 0;
}
__SIZE_TYPE__ host_strftime(char* out, __SIZE_TYPE__ size, const char* format, const void* time) { return 0; }
