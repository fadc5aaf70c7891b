// How the system hands out memory for outputs: where most of the time of a short operation goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <malloc.h>
#include <sys/mman.h>
#endif

namespace rfa {

// Lets malloc keep freed outputs for the next ones. Garbage collection frees them many at a time, which
// glibc takes for memory no longer wanted: it returns the pages, and every output touches new ones
// 4 KiB at a time. At most kKept bytes stay unused; who has tuned malloc by its own variables keeps
// what they say. No effect with another C library.
inline void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kKept = 64 << 20, kMapped = 32 << 20;  // kMapped: the most that glibc takes
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") || std::getenv("MALLOC_MMAP_THRESHOLD_") ||
      (tunables && std::strstr(tunables, "glibc.malloc."))) {
    return;
  }
  mallopt(M_MMAP_THRESHOLD, kMapped);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

// Asks for large pages under memory that has not been touched yet. No effect where the system has none.
inline void advise_large_pages(void* data, std::size_t bytes) {
#if defined(__linux__)
  // whole pages only: the ends of the array share theirs with other memory
  constexpr std::uintptr_t kPage = 4096;
  const auto start = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (start + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (start + bytes) / kPage * kPage;
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#else
  (void)data;
  (void)bytes;
#endif
}

}  // namespace rfa
