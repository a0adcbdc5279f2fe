// The library can start threads, but the simulation never does. libc++'s functions for starting and ending a thread
// therefore trap.
void _ZNSt3__117__assoc_sub_state12__make_readyEv(void* state) { __builtin_trap(); }
char* __cxa_demangle(const char* name, char* buffer, __SIZE_TYPE__* size, int* status) { __builtin_trap(); }

// Before it aborts, libc++ would close a stream, which is an import in zig's libc.
int close(int descriptor) { return -1; }
