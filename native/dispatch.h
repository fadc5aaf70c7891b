// Which instruction set runs: chosen once, at first use.
#pragma once

#include "kernels/table.h"
#include "rfa.h"

namespace rfa {

// The kernels in use.
const KernelTable& kernels();

}  // namespace rfa
