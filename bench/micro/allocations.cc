// Counts the allocations of operator new. This is a separate file because GCC reports a mismatch between malloc and
// operator new if the operator is inlined.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "micro/fleet.h"

namespace {

std::atomic<std::uint64_t> allocation_count = 0;

}  // namespace

// The replaceable operators that the other operators call.
void* operator new(std::size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace driverupgrade::bench {

std::uint64_t Allocations() { return allocation_count.load(std::memory_order_relaxed); }

}  // namespace driverupgrade::bench
