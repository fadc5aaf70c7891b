// Included before every source of a prebuilt addon (scripts/prebuilds.js): takes the first version of functions
// that a newer libc or libstdc++ raised without a change that matters here. Node 20 runs from glibc 2.28 on.
#pragma once

#if defined(__x86_64__)
#define RFA_FIRST_GLIBC "GLIBC_2.2.5"
#define RFA_FIRST_AFFINITY "GLIBC_2.3.4"
#elif defined(__aarch64__)
#define RFA_FIRST_GLIBC "GLIBC_2.17"
#define RFA_FIRST_AFFINITY "GLIBC_2.17"
#endif

// 2.29: no longer set errno
__asm__(".symver log,log@" RFA_FIRST_GLIBC);
__asm__(".symver log2,log2@" RFA_FIRST_GLIBC);
__asm__(".symver pow,pow@" RFA_FIRST_GLIBC);

// 2.34: libpthread became a part of libc
__asm__(".symver pthread_setaffinity_np,pthread_setaffinity_np@" RFA_FIRST_AFFINITY);

// gcc 12: std::condition_variable::wait lets a thread be cancelled, which none here is
#define RFA_WAIT "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
__asm__(".symver " RFA_WAIT "," RFA_WAIT "@GLIBCXX_3.4.11");
