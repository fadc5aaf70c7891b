// The vector wrapper without intrinsics: the compiler's own generic vectors, which become whatever the
// base instruction set has (SSE2 on x86-64). Tests build it with 16 lanes too, to run the code paths of
// wide vectors anywhere. See simd.h for the contract.
#pragma once

#ifndef RFA_SCALAR_LANES
#define RFA_SCALAR_LANES 4
#endif
#ifndef RFA_SCALAR_REGISTERS
#define RFA_SCALAR_REGISTERS 16
#endif

#define RFA_ISA_NAMESPACE scalar
#define RFA_ISA_NAME "scalar"

namespace rfa::scalar {
namespace {

constexpr int W = RFA_SCALAR_LANES;
constexpr int kRegisters = RFA_SCALAR_REGISTERS;

// memcpy instead of pointers to vectors: any alignment, and no aliasing of floats by vectors
typedef float V __attribute__((vector_size(4 * W)));
typedef std::int32_t I __attribute__((vector_size(4 * W)));
// signed overflow is undefined in C++ even where the machine wraps: additions and shifts go through
// U
typedef std::uint32_t U __attribute__((vector_size(4 * W)));  // integers that wrap around
typedef I M;                                                  // all bits of a lane set = true

RFA_INLINE V Zero() { return V{}; }
RFA_INLINE V Set(float x) { return V{} + x; }
RFA_INLINE V Load(const float* p) {
  V x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
RFA_INLINE void Store(float* p, V x) { std::memcpy(p, &x, sizeof x); }

// compilers turn loops over the lanes of one vector into comparisons and shuffles
RFA_INLINE M FirstN(Size n) {
  M m;
  for (int i = 0; i < W; i++) m[i] = i < n ? -1 : 0;
  return m;
}
RFA_INLINE V LoadN(const float* p, Size n) {
  V x = Zero();
  std::memcpy(&x, p, static_cast<std::size_t>(n) * sizeof(float));
  return x;
}
RFA_INLINE void StoreN(float* p, V x, Size n) {
  std::memcpy(p, &x, static_cast<std::size_t>(n) * sizeof(float));
}

RFA_INLINE I Bits(V a) { return reinterpret_cast<I>(a); }
RFA_INLINE V FromBits(I a) { return reinterpret_cast<V>(a); }

RFA_INLINE M Less(V a, V b) { return a < b; }
RFA_INLINE M Equal(V a, V b) { return a == b; }
RFA_INLINE V Select(M m, V yes, V no) { return FromBits((m & Bits(yes)) | (~m & Bits(no))); }
RFA_INLINE bool AllTrue(M m) {
  std::int32_t all = -1;
  for (int i = 0; i < W; i++) all &= m[i];
  return all != 0;
}

RFA_INLINE V Add(V a, V b) { return a + b; }
RFA_INLINE V Sub(V a, V b) { return a - b; }
RFA_INLINE V Mul(V a, V b) { return a * b; }
RFA_INLINE V Div(V a, V b) { return a / b; }
// a > b is false for NaN, which takes b: the contract's second operand
RFA_INLINE V Max(V a, V b) { return Select(a > b, a, b); }
RFA_INLINE V Min(V a, V b) { return Select(a < b, a, b); }
RFA_INLINE V Sqrt(V a) {
  for (int i = 0; i < W; i++) a[i] = sqrtf(a[i]);
  return a;
}
// Rounded twice: a fused multiply-add is a slow library call where the machine has none.
RFA_INLINE V Fma(V a, V b, V c) { return a * b + c; }
RFA_INLINE V Fnma(V a, V b, V c) { return c - a * b; }
// The product of two floats is exact in double.
RFA_INLINE V FnmaExact(V a, V b, V c) {
  for (int i = 0; i < W; i++) {
    c[i] = static_cast<float>(static_cast<double>(c[i]) - static_cast<double>(a[i]) * b[i]);
  }
  return c;
}

RFA_INLINE I SetI(std::int32_t x) { return I{} + x; }
RFA_INLINE I AddI(I a, I b) {
  return reinterpret_cast<I>(reinterpret_cast<U>(a) + reinterpret_cast<U>(b));
}
RFA_INLINE I SubI(I a, I b) {
  return reinterpret_cast<I>(reinterpret_cast<U>(a) - reinterpret_cast<U>(b));
}
RFA_INLINE I AndI(I a, I b) { return a & b; }
RFA_INLINE I OrI(I a, I b) { return a | b; }
RFA_INLINE I XorI(I a, I b) { return a ^ b; }
template <int n>
RFA_INLINE I ShlI(I a) {
  return reinterpret_cast<I>(reinterpret_cast<U>(a) << n);
}
template <int n>
RFA_INLINE I SarI(I a) {
  return a >> n;
}
// exact for |a| <= 2^24, which exponents and quarter turns are
RFA_INLINE V ToFloat(I a) { return __builtin_convertvector(a, V); }
RFA_INLINE M NegativeI(I a) { return a < I{}; }

// the upper half onto the lower until one lane is left: the tree of the wide sets
RFA_INLINE float ReduceAdd(V a) {
  float x[W];
  Store(x, a);
  for (int half = W / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) x[i] += x[i + half];
  }
  return x[0];
}
RFA_INLINE float ReduceMax(V a) {
  float x[W];
  Store(x, a);
  for (int half = W / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) x[i] = x[i] > x[i + half] ? x[i] : x[i + half];
  }
  return x[0];
}

// x[i][j] <- x[j][i]
RFA_INLINE void TransposeSquare(V (&x)[W]) {
  for (int i = 0; i < W; i++) {
    for (int j = 0; j < i; j++) {
      const float t = x[i][j];
      x[i][j] = x[j][i];
      x[j][i] = t;
    }
  }
}

// ---- doubles ----------------------------------------------------------------------------------

constexpr int WD = W / 2;
typedef double VD __attribute__((vector_size(8 * WD)));
typedef float Half __attribute__((vector_size(4 * WD)));
typedef std::int64_t L __attribute__((vector_size(8 * WD)));
typedef std::uint64_t UL __attribute__((vector_size(8 * WD)));
typedef L MD;

RFA_INLINE VD ZeroD() { return VD{}; }
RFA_INLINE VD Set(double x) { return VD{} + x; }
RFA_INLINE VD Load(const double* p) {
  VD x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
RFA_INLINE void Store(double* p, VD x) { std::memcpy(p, &x, sizeof x); }
RFA_INLINE MD FirstND(Size n) {
  MD m;
  for (int i = 0; i < WD; i++) m[i] = i < n ? -1 : 0;
  return m;
}
RFA_INLINE VD LoadN(const double* p, Size n) {
  VD x = ZeroD();
  std::memcpy(&x, p, static_cast<std::size_t>(n) * sizeof(double));
  return x;
}
RFA_INLINE void StoreN(double* p, VD x, Size n) {
  std::memcpy(p, &x, static_cast<std::size_t>(n) * sizeof(double));
}
RFA_INLINE VD LoadWideN(const float* p, Size n) {
  Half x{};
  std::memcpy(&x, p, static_cast<std::size_t>(n) * sizeof(float));
  return __builtin_convertvector(x, VD);
}
RFA_INLINE VD LoadWide(const float* p) { return LoadWideN(p, WD); }
RFA_INLINE void StoreNarrowN(float* p, VD x, Size n) {
  const Half narrow = __builtin_convertvector(x, Half);
  std::memcpy(p, &narrow, static_cast<std::size_t>(n) * sizeof(float));
}
RFA_INLINE void StoreNarrow(float* p, VD x) { StoreNarrowN(p, x, WD); }

RFA_INLINE L Bits(VD a) { return reinterpret_cast<L>(a); }
RFA_INLINE VD FromBitsD(L a) { return reinterpret_cast<VD>(a); }

RFA_INLINE MD Less(VD a, VD b) { return a < b; }
RFA_INLINE MD Equal(VD a, VD b) { return a == b; }
RFA_INLINE VD Select(MD m, VD yes, VD no) { return FromBitsD((m & Bits(yes)) | (~m & Bits(no))); }

RFA_INLINE VD Add(VD a, VD b) { return a + b; }
RFA_INLINE VD Sub(VD a, VD b) { return a - b; }
RFA_INLINE VD Mul(VD a, VD b) { return a * b; }
RFA_INLINE VD Div(VD a, VD b) { return a / b; }
RFA_INLINE VD Max(VD a, VD b) { return Select(a > b, a, b); }
RFA_INLINE VD Min(VD a, VD b) { return Select(a < b, a, b); }
RFA_INLINE VD Sqrt(VD a) {
  for (int i = 0; i < WD; i++) a[i] = sqrt(a[i]);
  return a;
}
RFA_INLINE VD Fma(VD a, VD b, VD c) { return a * b + c; }
RFA_INLINE VD Fnma(VD a, VD b, VD c) { return c - a * b; }

RFA_INLINE L SetL(std::int64_t x) { return L{} + x; }
RFA_INLINE L AddL(L a, L b) {
  return reinterpret_cast<L>(reinterpret_cast<UL>(a) + reinterpret_cast<UL>(b));
}
RFA_INLINE L SubL(L a, L b) {
  return reinterpret_cast<L>(reinterpret_cast<UL>(a) - reinterpret_cast<UL>(b));
}
RFA_INLINE L AndL(L a, L b) { return a & b; }
RFA_INLINE L OrL(L a, L b) { return a | b; }
RFA_INLINE L XorL(L a, L b) { return a ^ b; }
template <int n>
RFA_INLINE L ShlL(L a) {
  return reinterpret_cast<L>(reinterpret_cast<UL>(a) << n);
}
template <int n>
RFA_INLINE L ShrL(L a) {
  return reinterpret_cast<L>(reinterpret_cast<UL>(a) >> n);
}
RFA_INLINE L LanesL() {
  L x;
  for (int i = 0; i < WD; i++) x[i] = i;
  return x;
}
RFA_INLINE L MulWords(L a, L b) {
  const UL low = UL{} + 0xFFFFFFFFu;
  return reinterpret_cast<L>((reinterpret_cast<UL>(a) & low) * (reinterpret_cast<UL>(b) & low));
}
RFA_INLINE MD NegativeL(L a) { return a < L{}; }

RFA_INLINE double ReduceAdd(VD a) {
  double x[WD];
  Store(x, a);
  for (int half = WD / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) x[i] += x[i + half];
  }
  return x[0];
}
RFA_INLINE double ReduceMax(VD a) {
  double x[WD];
  Store(x, a);
  for (int half = WD / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) x[i] = x[i] > x[i + half] ? x[i] : x[i + half];
  }
  return x[0];
}

RFA_INLINE void Interleave(VD& a, VD& b) {
  double x[WD], y[WD], z[2 * WD];
  Store(x, a);
  Store(y, b);
  for (int i = 0; i < WD; i++) {
    z[2 * i] = x[i];
    z[2 * i + 1] = y[i];
  }
  a = Load(z);
  b = Load(z + WD);
}

}  // namespace
}  // namespace rfa::scalar
