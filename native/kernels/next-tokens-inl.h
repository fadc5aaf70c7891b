// Next-token distributions of two models, from their logits, in double precision: one item is some places.
//
// Per place one pass for the maxima and one with two exponentials for each token; floats are widened as they
// are read. With x = a - max a, y = b - max b, S = sum e^x and T = sum e^y:
//   nats of token t = ln S - x_t    KL of b from a = sum e^x (x - y) / S - ln S + ln T
// Neither overflows: no exponential exceeds 1, and S and T lie between 1 and the number of tokens.
//
// Error: e^x by 2^(x log2 e), (|x| + 2) u relatively with u = 2^-53, weighted by itself at most 3 u of S; a sum of
// n terms (n + 2) u of their sizes.
#pragma once

#include "kernels/elementwise-inl.h"
#include "math64-inl.h"

RFA_KERNELS_BEGIN

constexpr Size kTokenLogits = 16384;  // logits of one model per item: some 50 microseconds

inline Size TokenPlaces(const NextTokens& op) { return Most(1, kTokenLogits / Most(1, op.vocabulary)); }
inline Size TokenItems(const NextTokens& op) { return CeilDiv(op.places, TokenPlaces(op)); }
inline Size TokenScratch(const NextTokens&) { return 0; }

// First place of the largest number of a row.
inline Size PlaceOfTop(const float* x, Size n, float top) {
  Size i = 0;
  while (i + W <= n && AllTrue(Less(Load(x + i), Set(top)))) i += W;
  while (i < n - 1 && x[i] < top) i++;
  return i;
}

// Sums of a place in lanes: of e^x, of e^y and of e^x (x - y).
struct TokenSums {
  VD original, exchanged, excess;
};

RFA_INLINE void AddTokens(VD x, VD y, TokenSums& s) {
  const VD p = Exp2Weight(Mul(x, Set(kLog2ED)));
  s.original = Add(s.original, p);
  s.exchanged = Add(s.exchanged, Exp2Weight(Mul(y, Set(kLog2ED))));
  s.excess = Fma(p, Sub(x, y), s.excess);
}

inline void TokenPlace(const NextTokens& op, Size place, Size next) {
  const Size n = op.vocabulary;
  const float *a = op.original + place * n, *b = op.exchanged + place * n;
  const float top_a = RowMax(a, n), top_b = RowMax(b, n);
  const VD max_a = Set(static_cast<double>(top_a)), max_b = Set(static_cast<double>(top_b));
  TokenSums s{ZeroD(), ZeroD(), ZeroD()};
  Size i = 0;
  for (; i + WD <= n; i += WD) {
    AddTokens(Sub(LoadWide(a + i), max_a), Sub(LoadWide(b + i), max_b), s);
  }
  if (i < n) {
    // lanes beyond the last token: 2^-1023 log2 e counts as 0, and so does their difference
    const MD there = FirstND(n - i);
    const VD none = Set(-1023.0);
    AddTokens(Select(there, Sub(LoadWideN(a + i, n - i), max_a), none),
              Select(there, Sub(LoadWideN(b + i, n - i), max_b), none), s);
  }
  const double sum = ReduceAdd(s.original);
  const double log_a = log(sum), log_b = log(ReduceAdd(s.exchanged));
  const auto nats = [&](double log_sum, const float* x, float top) {
    return log_sum - (static_cast<double>(x[next]) - static_cast<double>(top));
  };
  op.out[kOriginalNats * op.places + place] = nats(log_a, a, top_a);
  op.out[kExchangedNats * op.places + place] = nats(log_b, b, top_b);
  op.out[kDivergence * op.places + place] = ReduceAdd(s.excess) / sum - log_a + log_b;
  op.out[kSameTop * op.places + place] = PlaceOfTop(a, n, top_a) == PlaceOfTop(b, n, top_b) ? 1 : 0;
}

inline void TokenItem(const NextTokens& op, Size item, float*) {
  const Size first = item * TokenPlaces(op), end = Least(first + TokenPlaces(op), op.places);
  for (Size place = first; place < end; place++) {
    const Size next = op.next[place];
    if (next >= 0) {
      TokenPlace(op, place, next);
    } else {
      for (int field = 0; field < kNextTokenFields; field++) op.out[field * op.places + place] = 0;
    }
  }
}

RFA_KERNELS_END
