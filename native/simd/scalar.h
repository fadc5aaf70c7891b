// The vector wrapper without intrinsics: arrays of RFA_SCALAR_LANES floats, which compilers turn into
// whatever the base instruction set has. Tests build it with 16 lanes too, to run the code paths of
// wide vectors anywhere. See simd.h for the contract.
#pragma once

#ifndef RFA_SCALAR_LANES
#define RFA_SCALAR_LANES 4
#endif

#define RFA_ISA_NAMESPACE scalar
#define RFA_ISA_NAME "scalar"

namespace rfa::scalar {
namespace {

constexpr int W = RFA_SCALAR_LANES;
#ifdef RFA_SCALAR_REGISTERS
constexpr int kRegisters = RFA_SCALAR_REGISTERS;
#else
constexpr int kRegisters = 16;
#endif

struct V {
  float lane[W];
};
struct I {
  std::int32_t lane[W];
};
struct M {
  bool lane[W];
};

template <class Result, class F>
RFA_INLINE Result Each(F f) {
  Result r;
  for (int i = 0; i < W; i++) r.lane[i] = f(i);
  return r;
}

RFA_INLINE V Set(float x) {
  return Each<V>([=](int) { return x; });
}
RFA_INLINE V Zero() { return Set(0); }
RFA_INLINE V Load(const float* p) {
  return Each<V>([=](int i) { return p[i]; });
}
RFA_INLINE void Store(float* p, V x) {
  for (int i = 0; i < W; i++) p[i] = x.lane[i];
}

RFA_INLINE M FirstN(Size n) {
  return Each<M>([=](int i) { return i < n; });
}
RFA_INLINE V LoadN(const float* p, Size n) {
  return Each<V>([=](int i) { return i < n ? p[i] : 0.0f; });
}
RFA_INLINE void StoreN(float* p, V x, Size n) {
  for (int i = 0; i < n; i++) p[i] = x.lane[i];
}

#define RFA_LANEWISE(Name, expression) \
  RFA_INLINE V Name(V a, V b) {        \
    return Each<V>([=](int i) {        \
      const float x = a.lane[i];       \
      const float y = b.lane[i];       \
      return expression;               \
    });                                \
  }
RFA_LANEWISE(Add, x + y)
RFA_LANEWISE(Sub, x - y)
RFA_LANEWISE(Mul, x* y)
RFA_LANEWISE(Div, x / y)
RFA_LANEWISE(Max, x > y ? x : y)
RFA_LANEWISE(Min, x < y ? x : y)
#undef RFA_LANEWISE

RFA_INLINE V Sqrt(V a) {
  return Each<V>([=](int i) { return std::sqrt(a.lane[i]); });
}
// Rounded twice: a fused multiply-add is a slow library call where the machine has none.
RFA_INLINE V Fma(V a, V b, V c) {
  return Each<V>([=](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
}
RFA_INLINE V Fnma(V a, V b, V c) {
  return Each<V>([=](int i) { return c.lane[i] - a.lane[i] * b.lane[i]; });
}
// The product of two floats is exact in double.
RFA_INLINE V FnmaExact(V a, V b, V c) {
  return Each<V>([=](int i) {
    return static_cast<float>(c.lane[i] - static_cast<double>(a.lane[i]) * b.lane[i]);
  });
}
RFA_INLINE V Round(V a) {
  return Each<V>([=](int i) { return std::nearbyint(a.lane[i]); });
}

RFA_INLINE M Less(V a, V b) {
  return Each<M>([=](int i) { return a.lane[i] < b.lane[i]; });
}
RFA_INLINE M Equal(V a, V b) {
  return Each<M>([=](int i) { return a.lane[i] == b.lane[i]; });
}
RFA_INLINE V Select(M m, V yes, V no) {
  return Each<V>([=](int i) { return m.lane[i] ? yes.lane[i] : no.lane[i]; });
}
RFA_INLINE bool AnyTrue(M m) {
  bool any = false;
  for (int i = 0; i < W; i++) any |= m.lane[i];
  return any;
}
RFA_INLINE bool AllTrue(M m) {
  bool all = true;
  for (int i = 0; i < W; i++) all &= m.lane[i];
  return all;
}

RFA_INLINE I Bits(V a) {
  I r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
RFA_INLINE V FromBits(I a) {
  V r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
RFA_INLINE I SetI(std::int32_t x) {
  return Each<I>([=](int) { return x; });
}
// Integer lanes wrap around.
#define RFA_LANEWISE(Name, expression)                             \
  RFA_INLINE I Name(I a, I b) {                                    \
    return Each<I>([=](int i) {                                    \
      const std::uint32_t x = static_cast<std::uint32_t>(a.lane[i]); \
      const std::uint32_t y = static_cast<std::uint32_t>(b.lane[i]); \
      return static_cast<std::int32_t>(expression);                \
    });                                                            \
  }
RFA_LANEWISE(AddI, x + y)
RFA_LANEWISE(SubI, x - y)
RFA_LANEWISE(AndI, x& y)
RFA_LANEWISE(OrI, x | y)
RFA_LANEWISE(XorI, x ^ y)
#undef RFA_LANEWISE
template <int n>
RFA_INLINE I ShlI(I a) {
  return Each<I>([=](int i) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a.lane[i]) << n);
  });
}
template <int n>
RFA_INLINE I SarI(I a) {
  return Each<I>([=](int i) { return a.lane[i] >> n; });
}
RFA_INLINE V ToFloat(I a) {
  return Each<V>([=](int i) { return static_cast<float>(a.lane[i]); });
}
RFA_INLINE M NonZeroI(I a) {
  return Each<M>([=](int i) { return a.lane[i] != 0; });
}

RFA_INLINE float ReduceAdd(V a) {
  for (int half = W / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) a.lane[i] += a.lane[i + half];
  }
  return a.lane[0];
}
RFA_INLINE float ReduceMax(V a) {
  for (int half = W / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) {
      a.lane[i] = a.lane[i] > a.lane[i + half] ? a.lane[i] : a.lane[i + half];
    }
  }
  return a.lane[0];
}

// x[i][j] <- x[j][i]
RFA_INLINE void TransposeSquare(V (&x)[W]) {
  for (int i = 0; i < W; i++) {
    for (int j = 0; j < i; j++) {
      const float t = x[i].lane[j];
      x[i].lane[j] = x[j].lane[i];
      x[j].lane[i] = t;
    }
  }
}

}  // namespace
}  // namespace rfa::scalar
