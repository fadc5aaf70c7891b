// The kernels on AVX-512 F + VL + DQ: this file alone is compiled with its flags.
#if defined(__x86_64__)
#define RFA_TARGET_AVX512
#include "kernels/all-inl.h"

namespace rfa {
const KernelTable* avx512_kernels() { return &avx512::kTable; }
}  // namespace rfa
#else
#include "kernels/table.h"

namespace rfa {
const KernelTable* avx512_kernels() { return nullptr; }
}  // namespace rfa
#endif
