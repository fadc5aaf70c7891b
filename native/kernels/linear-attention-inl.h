// Attention with explicit features, both directions: three phases over items.
//   1. sums: every part of every head's keys gives a separate state
//   2. merge: the parts of a head are added up in their order
//   3. read: blocks of queries
// Features are computed a tile at a time and never go through memory. The number of parts follows
// from the shape alone, so that results do not depend on the number of threads.
//
//   S = sum_j w_j phi(k_j) v_j^T  [F, Dv]    z = sum_j w_j phi(k_j)  [F]
//   out_i = phi(q_i)^T S / guard(phi(q_i) . z)
// Time O((L + S) F (D + Dv)) with the projection, memory O(F Dv) per part: nothing of length L F.
//
// Log-weights enter as exp(log_weight_j - max_j): at most 1, so nothing overflows, and the common
// factor cancels in the quotient. Explicit, trigonometric and ReLU features do not need this: they are about as
// large as the inputs. NaN or inf of a present key reaches every query of its head.
#pragma once

#include "kernels/feature-map-inl.h"
#include "kernels/state-inl.h"
#include "kernels/table.h"

RFA_KERNELS_BEGIN

// Whole vectors of every W. A chunk of 96 keys loads and stores the state once per 96 keys, a small
// part of 96 multiply-adds per element; its features, [F, 96], and values stay in the second-level
// cache for F of some hundreds.
constexpr Size kKeyChunk = 96;           // keys per update of the state
constexpr Size kReadTile = 8 * kRows;    // queries per read of the state
constexpr Size kReadBlock = 8 * kReadTile;
constexpr Size kPartLength = 2048;       // keys per part at least

// Enough parts for 16 items if the keys allow it. Few heads of long sequences would otherwise leave threads idle: a
// head's sums are one item. A part costs a state and a merge, O(F Dv), against O(kPartLength F Dv) for
// its sums.
inline Size LinearParts(const LinearAttention& op) {
  const Size pairs = Most(1, op.batch * op.heads);
  return Most(1, Least(CeilDiv(16, pairs), op.key_len / kPartLength));
}

inline State LinearState(const LinearAttention& op) {
  return State(feature_dim(op.query, op.head_dim), op.value_dim);
}
inline Size LinearStateFloats(const LinearAttention& op) {
  const State state = LinearState(op);
  return RoundUp(state.SumFloats(), 16) + state.TotalFloats();
}

// The state of one part of one pair of the wave, in shared memory.
inline State PartState(const LinearPlan& plan, Size pair, Size part) {
  State state = LinearState(*plan.op);
  Bump bump{plan.states + (pair * plan.parts + part) * plan.state_floats};
  state.Take(bump);
  return state;
}

// Workspace of phase 1.
// Features stand token by token, [keys, F], and go into the product as they are made: keys are not
// transposed. Rows are padded with zeros, written once: the register tile's last rows then add zeros
// to the state's padding.
struct SumScratch {
  RowFeatures keys;
  Size stride, v_stride;
  float *features, *values, *weights;

  SumScratch(const LinearAttention& op, const State& state, Bump& bump)
      : keys(op.key, op.head_dim, kKeyChunk, bump),
        stride(OddLines(RoundUp(state.features, kRows))),
        v_stride(OddLines(op.value_dim)) {
    features = bump.Take(kKeyChunk * stride);
    values = bump.Take(kKeyChunk * v_stride);
    weights = bump.Take(RoundUp(kKeyChunk, 16));
  }
};

// Largest log-weight of the keys that are present; -inf for none.
inline float LargestLogWeight(const LinearAttention& op, Size batch, Size head) {
  if (!op.key_log_weight) return 0;
  const float* weights = op.key_log_weight.at(batch, head);
  const std::uint8_t* mask = op.key_mask ? op.key_mask + batch * op.key_len : nullptr;
  float top = -kInfinity;
  for (Size j = 0; j < op.key_len; j++) {
    // NaN is never larger: it stays out of the maximum and shows in its own key's weight
    if ((!mask || mask[j]) && weights[j] > top) top = weights[j];
  }
  return top;
}

// Factor on the features of `count` keys: scale, presence, and exp(log_weight - top) where there are
// log-weights; zero beyond `count`.
inline void KeyWeights(float scale, const std::uint8_t* present, const float* log_weights, float top,
                       Size count, float* weights) {
  // a head without keys has top = -inf, and -inf - (-inf) would be NaN: all weights 0 instead
  const Size width = RoundUp(count, 16);
  for (Size j = 0; j < width; j++) {
    const bool keep = j < count && (!present || present[j]) && top != -kInfinity;
    weights[j] = keep ? (log_weights ? log_weights[j] - top : 0.0f) : -kInfinity;
  }
  for (Size j = 0; j < width; j += W) {
    // e^0 is exactly 1: without log-weights a factor is exactly `scale`, and e^-inf exactly 0
    Store(weights + j, Mul(Set(scale), Exp(Load(weights + j))));
  }
}

// Rows of features times their weights. Those of absent keys are overwritten rather than weighed 0:
// there may be NaN where no key is.
inline void WeighRows(float* features, Size stride, Size count, Size columns, const float* weights,
                      const std::uint8_t* present) {
  for (Size j = 0; j < count; j++) {
    float* row = features + j * stride;
    const bool keep = !present || present[j];
    const V weight = Set(weights[j]);
    for (Size c = 0; c < columns; c += W) {
      const V x = keep ? Mul(LoadUpTo(row + c, columns - c), weight) : Zero();
      StoreUpTo(row + c, x, columns - c);
    }
  }
}

inline Size LinearSumItems(const LinearPlan& plan) { return plan.pairs * plan.parts; }
inline Size LinearSumScratch(const LinearPlan& plan) {
  Bump bump{nullptr};
  const SumScratch scratch(*plan.op, LinearState(*plan.op), bump);
  return bump.used;
}
inline void LinearSumItem(const LinearPlan& plan, Size item, float* workspace) {
  const LinearAttention& op = *plan.op;
  const Size pair = plan.first_pair + item / plan.parts, part = item % plan.parts;
  const Size batch = pair / op.heads, head = pair % op.heads;
  const State state = PartState(plan, item / plan.parts, part);
  state.Clear();
  Bump bump{workspace};
  const SumScratch s(op, state, bump);
  s.keys.Prepare(batch, head, 1);
  for (Size i = 0; i < kKeyChunk * s.stride; i++) s.features[i] = 0;
  // over all keys of the head, not the part's: parts are added up, so they need one reference. O(S)
  const float top = LargestLogWeight(op, batch, head);
  const Size end = op.key_len * (part + 1) / plan.parts;
  for (Size first = op.key_len * part / plan.parts; first < end; first += kKeyChunk) {
    const Size count = Least(kKeyChunk, end - first);
    const std::uint8_t* present =
        op.key_mask ? op.key_mask + batch * op.key_len + first : nullptr;
    const float* log_weights =
        op.key_log_weight ? op.key_log_weight.at(batch, head) + first : nullptr;
    s.keys.Compute(batch, head, first, count, 1, true, s.features, s.stride);
    if (present || log_weights) {
      KeyWeights(1, present, log_weights, top, count, s.weights);
      WeighRows(s.features, s.stride, count, state.features, s.weights, present);
    }
    const RightRows values = RowsOrCopy(op.value.at(batch, head, first), op.value.row_stride, count,
                                        op.value_dim, present, s.values, s.v_stride);
    AddTotalsByRow(state, s.features, s.stride, count);
    AddKeys<true>(state, s.features, s.stride, values.data, values.stride, count, 1);
  }
}

// Phase 2: adds the later parts of a pair to its first.
inline Size LinearMergeItems(const LinearPlan& plan) { return plan.parts > 1 ? plan.pairs : 0; }
inline Size LinearMergeScratch(const LinearPlan&) { return 0; }
inline void LinearMergeItem(const LinearPlan& plan, Size item, float*) {
  float* total = plan.states + item * plan.parts * plan.state_floats;
  // sums and totals lie one after the other: one loop adds both, O(parts F Dv)
  for (Size part = 1; part < plan.parts; part++) {
    const float* more = total + part * plan.state_floats;
    for (Size i = 0; i < plan.state_floats; i += W) {
      Store(total + i, Add(Load(total + i), Load(more + i)));
    }
  }
}

// Stores one row of numerator and its denominator, divided where asked.
// The denominator is handed out as it is, guarded or not: callers count how often a guard acts.
RFA_INLINE void FinishLinearRow(const LinearAttention& op, const float* numerator, float den,
                                Size batch, Size head, Size row) {
  float* out = op.out.at(batch, head, row);
  const float by = op.normalize ? Guarded(den, op.guard, op.guard_bound) : 1.0f;
  if (op.normalize) {
    StoreQuotient(numerator, by, op.value_dim, out);
  } else {
    for (Size c = 0; c < op.value_dim; c += W) {
      StoreUpTo(out + c, Load(numerator + c), op.value_dim - c);
    }
  }
  if (op.denominator) op.denominator.at(batch, head)[row] = den;
}

// Workspace of phase 3.
// kReadTile rows of features, [48, F], stay in the first- or second-level cache between being
// formed and being multiplied with the state.
struct ReadScratch {
  RowFeatures queries;
  Size q_stride, out_stride;
  float *features, *out;

  ReadScratch(const LinearAttention& op, const State& state, Bump& bump)
      : queries(op.query, op.head_dim, kReadTile, bump),
        q_stride(OddLines(state.features)),
        out_stride(OddLines(op.value_dim)) {
    features = bump.Take(kReadTile * q_stride);
    out = bump.Take(kReadTile * out_stride);
  }
};

inline Size LinearReadItems(const LinearPlan& plan) {
  return plan.pairs * CeilDiv(plan.op->query_len, kReadBlock);
}
inline Size LinearReadScratch(const LinearPlan& plan) {
  Bump bump{nullptr};
  const ReadScratch scratch(*plan.op, LinearState(*plan.op), bump);
  return bump.used;
}
inline void LinearReadItem(const LinearPlan& plan, Size item, float* workspace) {
  const LinearAttention& op = *plan.op;
  const Size blocks = CeilDiv(op.query_len, kReadBlock);
  const Size pair = plan.first_pair + item / blocks;
  const Size batch = pair / op.heads, head = pair % op.heads;
  const State state = PartState(plan, item / blocks, 0);
  Bump bump{workspace};
  const ReadScratch s(op, state, bump);
  s.queries.Prepare(batch, head, 1);
  for (Size i = 0; i < kReadTile * s.q_stride; i++) s.features[i] = 0;
  // a block packs its head's projection once, O(M D), for up to kReadBlock queries
  const Size start = item % blocks * kReadBlock;
  const Size end = Least(op.query_len, start + kReadBlock);
  for (Size first = start; first < end; first += kReadTile) {
    const Size rows = Least(kReadTile, end - first);
    // up to a factor per query, which cancels: only for the log kinds, which this operation does
    // not take
    s.queries.Compute(batch, head, first, rows, 1, true, s.features, s.q_stride);
    // num = phi(Q) S, [rows, F] x [F, Dv], then den = phi(q) . z row by row
    ReadSums(state, s.features, s.q_stride, rows, nullptr, s.out, s.out_stride);
    for (Size r = 0; r < rows; r++) {
      const float den = Dot(s.features + r * s.q_stride, state.totals, RoundUp(state.features, W));
      FinishLinearRow(op, s.out + r * s.out_stride, den, batch, head, first + r);
    }
  }
}

RFA_KERNELS_END
