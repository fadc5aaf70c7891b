// The kernels on AVX2 + FMA: this file alone is compiled with its flags.
#if defined(__x86_64__)
#define RFA_TARGET_AVX2
#include "kernels/all-inl.h"

namespace rfa {
const KernelTable* avx2_kernels() { return &avx2::kTable; }
}  // namespace rfa
#else
#include "kernels/table.h"

namespace rfa {
const KernelTable* avx2_kernels() { return nullptr; }
}  // namespace rfa
#endif
