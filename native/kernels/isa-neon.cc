// The kernels on 64-bit NEON (64-bit Arm always has it).
#if defined(__aarch64__) || defined(_M_ARM64)
#define RFA_TARGET_NEON
#include "kernels/all-inl.h"

namespace rfa {
const KernelTable* neon_kernels() { return &neon::kTable; }
}  // namespace rfa
#else
#include "kernels/table.h"

namespace rfa {
const KernelTable* neon_kernels() { return nullptr; }
}  // namespace rfa
#endif
