// The kernels without intrinsics, on every machine.
#define RFA_TARGET_SCALAR
#include "kernels/all-inl.h"

namespace rfa {
const KernelTable* scalar_kernels() { return &scalar::kTable; }
}  // namespace rfa
