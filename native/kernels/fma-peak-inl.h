// The most multiply-adds one thread can do: independent chains in registers, no memory.
#pragma once

#include "kernels/micro-inl.h"

RFA_KERNELS_BEGIN

// Enough chains for two ports of latency 4 or 5 (four ports of latency 4 with 32 registers), few enough to stay in
// registers with the two constants.
constexpr int kChains = kRegisters >= 32 ? 16 : 12;
// RFA_UNROLL goes no further, and chains of a loop that is not unrolled live in memory: half the rate.
static_assert(kChains <= 16, "every chain must be unrolled");

// Runs rounds * kChains vector multiply-adds and returns their floating-point operations. `sink`
// receives a value that depends on all of them.
inline double FmaRounds(Size rounds, float* sink) {
  V acc[kChains];
  RFA_UNROLL
  for (int i = 0; i < kChains; i++) acc[i] = Set(static_cast<float>(i));
  // a fixed point of x -> x / 2 + 1: no denormals, no overflow
  const V half = Set(0.5f + *sink * 0.0f);
  const V one = Set(1.0f);
  for (Size round = 0; round < rounds; round++) {
    RFA_UNROLL
    for (int i = 0; i < kChains; i++) acc[i] = Fma(acc[i], half, one);
  }
  V total = acc[0];
  RFA_UNROLL
  for (int i = 1; i < kChains; i++) total = Add(total, acc[i]);
  *sink = ReduceAdd(total);
  return 2.0 * W * kChains * static_cast<double>(rounds);
}

RFA_KERNELS_END
