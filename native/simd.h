// The thin vector wrapper: the only place with intrinsics. One translation unit sees exactly one
// instruction set, named by a macro (RFA_TARGET_AVX512, _AVX2, _NEON, else scalar). Everything it
// includes lives in that set's own namespace with internal linkage, so that no function compiled
// with wide instructions can be picked by the linker for a machine without them.
//
// Contract: V = W floats, I = W 32-bit integers, M = W truth values.
//   Load/Store  any alignment;  LoadN/StoreN  first n lanes only (0 <= n <= W), others read 0
//   Fma(a,b,c)  a b + c;  Fnma  c - a b;  scalar rounds twice;  FnmaExact  rounds once everywhere
//   Max/Min     the second operand where either one is NaN
//   FirstN(n)   true in the first n lanes (0 <= n <= W)
//   Reduce*     a fixed tree over the lanes;  TransposeSquare  W vectors as a W x W matrix
// VD = WD = W / 2 doubles, L = WD 64-bit integers, MD = WD truth values: the same functions, and
//   LoadWide    floats as doubles;  StoreNarrow  doubles rounded to floats
//   ShrL        shifts zeros in;  MulWords  the lower 32 bits of both, unsigned, as a 64-bit product
//   LanesL      0, 1, 2, ..;  Interleave  a, b <- a0 b0 a1 b1 .. in order, over both
#pragma once

#include <math.h>
#include <cstdint>
#include <cstring>

#include "rfa.h"

#if !defined(__GNUC__) && !defined(__clang__)
#error "the kernels need gcc or clang"
#endif

#define RFA_COLD __attribute__((noinline, cold))
// For passes with many constants: inlined behind a register tile, the compiler keeps the constants in
// registers across the tile and moves accumulators to memory, which halves the speed of the product.
#define RFA_APART __attribute__((noinline))
#if defined(RFA_NO_UNROLL)
// for sanitizers: their checks in fully unrolled and inlined code take compilers many minutes
#define RFA_INLINE inline
#define RFA_UNROLL
#else
#define RFA_INLINE inline __attribute__((always_inline))
#define RFA_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(RFA_TARGET_AVX512)
#include "simd/avx512.h"
#elif defined(RFA_TARGET_AVX2)
#include "simd/avx2.h"
#elif defined(RFA_TARGET_NEON)
#include "simd/neon.h"
#else
#include "simd/scalar.h"
#endif

// Everything between these two belongs to one instruction set.
#define RFA_KERNELS_BEGIN        \
  namespace rfa {                \
  namespace RFA_ISA_NAMESPACE {  \
  namespace {
#define RFA_KERNELS_END }}}
