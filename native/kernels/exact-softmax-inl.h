// Exact softmax attention of one head in double precision: what estimates are judged by.
//
// As softmax-attention-inl.h, which says how tiles and the running reference work; here keys and values
// are packed once per call, and the entropy of a row's weights comes from one more sum:
//   m' = max(m, max s)   l' = 2^(m - m') l + sum p   e' = 2^(m - m') (e + (m - m') l) + sum p (s - m')
//   entropy = ln l - ln 2 e / l, p = 2^(s - m'), s in units of log2.
// A constant that is added to every weight meets the sums at the end: c times the sum of the values in
// view, and c times their number.
//
// Error: a logit is a dot product of D terms of log2 e x_d and y_d, (D + 3) u sum|x y|, u = 2^-53; a sum
// over n keys is wrong by (n + 8) u of its terms' magnitudes. The arc-cosine kernel takes the place of
// exponentials where keys have lengths.
#pragma once

#include "kernels/micro-inl.h"
#include "math64-inl.h"

RFA_KERNELS_BEGIN

constexpr int kPanelD = kVecs * WD;
// a tile of 24 x 192 scores takes 36 KiB of 48 (with 16 registers 18 of 32): panels stream past it
constexpr Size kExactRows = (kVecs > 2 ? 4 : 2) * kRows;
constexpr Size kExactKeys = 192;       // keys per block: a multiple of kPanelD
constexpr Size kExactQueries = 384;    // queries per item at most, a multiple of kExactRows
constexpr double kExactSlack = 8;      // weights stay below 2^8

// Queries per item: at least 32 items where rows allow it, by the shape alone.
inline Size ExactBlock(const ExactSoftmax& op) {
  const Size per_item = RoundUp(CeilDiv(op.query_len, 32), kExactRows);
  return Most(kExactRows, Least(kExactQueries, per_item));
}

// 2^x in whole vectors and what is left, for tests.
inline void Exp2WeightsDouble(const double* in, double* out, Size count) {
  Size i = 0;
  for (; i + WD <= count; i += WD) Store(out + i, Exp2Weight(Load(in + i)));
  if (i < count) StoreN(out + i, Exp2Weight(LoadN(in + i, count - i)), count - i);
}

// ---- packed keys and values -------------------------------------------------------------------

inline Size ExactValueColumns(const ExactSoftmax& op) {
  return op.value ? RoundUp(op.value_dim, WD) : 0;
}
inline Size ExactKeyRows(const ExactSoftmax& op) { return RoundUp(op.key_len, kPanelD); }
// Panels of keys, values of each block, biases, lengths.
inline Size ExactPackedDoubles(const ExactSoftmax& op) {
  return ExactKeyRows(op) * (op.head_dim + ExactValueColumns(op) + 2);
}
struct ExactPacked {
  double *keys, *values, *bias, *length;

  ExactPacked(const ExactPlan& plan)
      : keys(plan.packed),
        values(keys + ExactKeyRows(*plan.op) * plan.op->head_dim),
        bias(values + ExactKeyRows(*plan.op) * ExactValueColumns(*plan.op)),
        length(bias + ExactKeyRows(*plan.op)) {}
};

inline Size ExactPackItems(const ExactPlan& plan) { return CeilDiv(plan.op->key_len, kExactKeys); }
inline Size ExactPackScratch(const ExactPlan&) { return 0; }

// Entries of keys and queries, which may be given as floats with a factor.
RFA_INLINE double ExactKey(const ExactSoftmax& op, Size at) {
  return op.key_floats ? op.key_floats[at] * op.scale : op.key[at];
}
RFA_INLINE double ExactQuery(const ExactSoftmax& op, Size at) {
  return op.query_floats ? op.query_floats[at] * op.scale : op.query[at];
}

// One block of keys, transposed into panels [D, width], with biases in units of log2; its values in
// panels [keys, width]. What is beyond the last key or column is 0, and its bias removes it.
inline void ExactPackItem(const ExactPlan& plan, Size item, float*) {
  const ExactSoftmax& op = *plan.op;
  const ExactPacked packed(plan);
  const Size first = item * kExactKeys, depth = op.head_dim;
  const Size end = Least(first + kExactKeys, op.key_len);
  for (Size j0 = first; j0 < end; j0 += kPanelD) {
    const Size width = Least(kPanelD, RoundUp(end - j0, WD));
    double* panel = packed.keys + j0 * depth;
    for (Size j = j0; j < j0 + width; j++) {
      packed.bias[j] = j < end ? (op.key_bias ? op.key_bias[j] * kLog2ED : 0) : -kInfinityD;
      packed.length[j] = j < end && op.key_length ? op.key_length[j] : 0;
      for (Size d = 0; d < depth; d++) {
        panel[d * width + j - j0] = j < end ? ExactKey(op, j * depth + d) : 0;
      }
    }
  }
  const Size columns = ExactValueColumns(op);
  double* panel = packed.values + first * columns;
  for (Size c0 = 0; c0 < columns; c0 += kPanelD) {
    const Size width = Least(kPanelD, columns - c0);
    for (Size j = first; j < end; j++) {
      const float* row = op.value + j * op.value_dim;
      for (Size c = c0; c < c0 + width; c++) *panel++ = c < op.value_dim ? row[c] : 0;
    }
  }
}

// ---- one item ---------------------------------------------------------------------------------

struct ExactScratch {
  Size d_stride, columns, block;
  double *query, *scores, *row_max, *out, *reference, *sum, *weighted, *rescale, *in_view;

  // a float is half a double: pieces are counted in floats, and start with a cache line
  ExactScratch(const ExactSoftmax& op, Bump& bump) {
    const auto take = [&](Size doubles) { return reinterpret_cast<double*>(bump.Take(2 * doubles)); };
    d_stride = RoundUp(op.head_dim, WD);
    columns = ExactValueColumns(op);
    block = ExactBlock(op);
    query = take(block * d_stride);
    scores = take(kExactRows * kExactKeys);
    row_max = take(kExactRows * WD);
    out = take(block * columns);
    reference = take(block);
    sum = take(block);
    weighted = take(block);
    rescale = take(kExactRows);
    in_view = take(op.log_constant ? columns : 0);
  }
};

inline Size ExactItems(const ExactPlan& plan) {
  return CeilDiv(plan.op->query_len, ExactBlock(*plan.op));
}
inline Size ExactScratchFloats(const ExactPlan& plan) {
  Bump bump{nullptr};
  ExactScratch scratch(*plan.op, bump);
  return bump.used;
}

// Keys that a query sees: the first ones, but for its own where that is hidden.
RFA_INLINE Size ExactView(const ExactSoftmax& op, Size row) {
  return op.causal ? Least(row + 1, op.key_len) : op.key_len;
}
RFA_INLINE bool HidesOwnKey(const ExactSoftmax& op, Size row) {
  return op.excludes_self && ExactView(op, row) > 1 && row < op.key_len;
}

// Where a tile stands: rows first_row.. against keys first_key.. of a block, vecs of them in use.
struct ExactTile {
  Size first_row, rows, first_key, keys, vecs;
  bool masked;  // some keys are hidden from some rows
};

// Scores of one vector of keys from `key` on, hidden ones at -inf.
RFA_INLINE VD HideKeys(const ExactSoftmax& op, VD x, Size row, Size key) {
  const VD none = Set(-kInfinityD);
  if (op.causal) x = Select(FirstND(Most(0, Least(WD, row + 1 - key))), x, none);
  const Size own = row - key;
  if (own >= 0 && own < WD && HidesOwnKey(op, row)) {
    x = Select(FirstND(own), x, Select(FirstND(own + 1), none, x));
  }
  return x;
}

// scores = q k^T + bias for one panel of keys, and the maxima per lane.
template <int C>
RFA_INLINE void ExactScores(const ExactSoftmax& op, const ExactPacked& packed, const ExactScratch& s,
                            const ExactTile& tile, const double* query, Size v) {
  const Size key = tile.first_key + v * WD;
  const double* panel = packed.keys + key * op.head_dim;
  for (Size r0 = 0; r0 < tile.rows; r0 += kRows) {
    VD acc[kRows][C];
    RFA_UNROLL
    for (int c = 0; c < C; c++) {
      const VD bias = Load(packed.bias + key + c * WD);
      RFA_UNROLL
      for (int r = 0; r < kRows; r++) acc[r][c] = bias;
    }
    MultiplyAdd(acc, query + r0 * s.d_stride, s.d_stride, panel, C * WD, op.head_dim);
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      double* row = s.scores + (r0 + r) * kExactKeys + v * WD;
      VD top = Load(s.row_max + (r0 + r) * WD);
      RFA_UNROLL
      for (int c = 0; c < C; c++) {
        VD x = acc[r][c];
        if (tile.masked) x = HideKeys(op, x, tile.first_row + r0 + r, key + c * WD);
        Store(row + c * WD, x);
        top = Max(top, x);
      }
      Store(s.row_max + (r0 + r) * WD, top);
    }
  }
}

// 2^x of a number x <= 0 of any size.
RFA_INLINE double Exp2Of(double x) {
  double lanes[WD];
  Store(lanes, Exp2Weight(Set(x)));
  return lanes[0];
}

// Turns a row of scores into weights relative to the row's reference and updates its sums.
template <bool kEntropy>
RFA_INLINE void ExactWeights(const ExactScratch& s, Size tile_row, Size item_row, Size vecs) {
  double& reference = s.reference[item_row];
  double& sum = s.sum[item_row];
  double& weighted = s.weighted[item_row];
  const double top = ReduceMax(Load(s.row_max + tile_row * WD));
  double keep = 1;
  // written so that a NaN moves the reference, too: the row is NaN then
  if (!(top <= reference + kExactSlack)) {
    // a row that has seen no key keeps nothing: its reference is -inf
    keep = Exp2Of(reference - top);
    weighted = keep == 0 ? 0 : keep * (weighted + (reference - top) * sum);
    sum *= keep;
    reference = top;
  }
  s.rescale[tile_row] = keep;
  // a row that has seen no key: -inf - (-inf) would be NaN, -inf - 0 weighs 0
  const VD base = Set(reference == -kInfinityD ? 0.0 : reference);
  double* row = s.scores + tile_row * kExactKeys;
  VD total = ZeroD(), moment = ZeroD();
  for (Size v = 0; v < vecs; v++) {
    const VD x = Sub(Load(row + v * WD), base);
    const VD p = Exp2Weight(x);
    Store(row + v * WD, p);
    total = Add(total, p);
    // 0 times -inf would be NaN
    if (kEntropy) moment = Fma(p, Max(Set(-1100.0), x), moment);
  }
  sum += ReduceAdd(total);
  if (kEntropy) weighted += ReduceAdd(moment);
}

// The same for a row of cosines, which become weights of the arc-cosine kernel as they are.
inline void ArcCosineWeights(const ExactScratch& s, Size tile_row, Size item_row, Size vecs,
                             const double* length) {
  s.rescale[tile_row] = 1;
  double* row = s.scores + tile_row * kExactKeys;
  VD total = ZeroD();
  for (Size v = 0; v < vecs; v++) {
    const VD c = Load(row + v * WD);
    const VD inside = Max(Set(-1.0), Min(Set(1.0), c));
    const VD p = Mul(Load(length + v * WD), ArcCosine(inside));
    // hidden keys stand at -inf
    const VD seen = Select(Less(c, Set(-2.0)), ZeroD(), p);
    Store(row + v * WD, seen);
    total = Add(total, seen);
  }
  s.sum[item_row] += ReduceAdd(total);
}

// out = rescale out + p v for one panel of value columns.
template <int C>
RFA_INLINE void ExactValues(const ExactScratch& s, const ExactTile& tile, const double* panel,
                            double* out, Size v) {
  for (Size r0 = 0; r0 < tile.rows; r0 += kRows) {
    VD acc[kRows][C];
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      RFA_UNROLL
      for (int c = 0; c < C; c++) acc[r][c] = ZeroD();
    }
    MultiplyAdd(acc, s.scores + r0 * kExactKeys, kExactKeys, panel, C * WD,
                Least(tile.keys, tile.vecs * WD));
    RFA_UNROLL
    for (int r = 0; r < kRows; r++) {
      double* row = out + (r0 + r) * s.columns + v * WD;
      const VD scale = Set(s.rescale[r0 + r]);
      RFA_UNROLL
      for (int c = 0; c < C; c++) Store(row + c * WD, Fma(Load(row + c * WD), scale, acc[r][c]));
    }
  }
}

// The tile of `rows` rows against `keys` keys; no vectors where it sees none of them.
inline ExactTile ExactTileAt(const ExactSoftmax& op, Size first_row, Size rows, Size first_key,
                             Size keys) {
  ExactTile tile{first_row, rows, first_key, keys, CeilDiv(keys, WD), false};
  const Size seen = first_row + rows - first_key;  // of the last row, causal
  if (op.causal && seen < keys) tile.vecs = CeilDiv(Most(0, seen), WD);
  tile.masked = (op.causal && first_key + keys > first_row + 1) ||
                (op.excludes_self && first_key < first_row + rows && first_row < first_key + keys);
  return tile;
}

inline void ExactTileSums(const ExactSoftmax& op, const ExactPacked& packed, const ExactScratch& s,
                          ExactTile tile, Size local) {
  for (Size r = 0; r < tile.rows; r++) Store(s.row_max + r * WD, Set(-kInfinityD));
  const Size vecs = CeilDiv(tile.keys, WD);
  ForEachPanel(vecs, tile.vecs, [&](auto width, Size v) {
    ExactScores<decltype(width)::vecs>(op, packed, s, tile, s.query + local * s.d_stride, v);
  });
  tile.vecs = Least(vecs, RoundUp(tile.vecs, kVecs));  // whole panels
  for (Size r = 0; r < tile.rows; r++) {
    if (op.key_length) {
      ArcCosineWeights(s, r, local + r, tile.vecs, packed.length + tile.first_key);
    } else if (op.entropy) {
      ExactWeights<true>(s, r, local + r, tile.vecs);
    } else {
      ExactWeights<false>(s, r, local + r, tile.vecs);
    }
  }
  const double* values = packed.values + tile.first_key * s.columns;
  ForEachPanel(s.columns / WD, s.columns / WD, [&](auto width, Size v) {
    ExactValues<decltype(width)::vecs>(s, tile, values + PanelOffset(v, tile.keys) / W * WD,
                                       s.out + local * s.columns, v);
  });
}

// ---- results ----------------------------------------------------------------------------------

// Sum of the values that rows see, kept from one row to the next.
struct ValuesInView {
  Size seen = 0;
  double* sums;  // [Dv]
};

// Adds a constant to the weights of a row: c times the values in view to its output, c times their
// number to its sum. Returns the reference of both, the larger one of the logits' and the constant.
inline double AddConstant(const ExactSoftmax& op, Size row, double reference, double* sum,
                          double* out, ValuesInView& view) {
  const double log2_constant = op.log_constant[row] * kLog2ED;
  const double top = reference > log2_constant ? reference : log2_constant;
  if (top == -kInfinityD) return top;
  const double keep = Exp2Of(reference - top);
  const double added = Exp2Of(log2_constant - top);
  const bool hides = HidesOwnKey(op, row);
  *sum = *sum * keep + added * static_cast<double>(ExactView(op, row) - (hides ? 1 : 0));
  if (!op.out) return top;
  for (; view.seen < ExactView(op, row); view.seen++) {
    const float* value = op.value + view.seen * op.value_dim;
    for (Size c = 0; c < op.value_dim; c++) view.sums[c] += value[c];
  }
  for (Size c = 0; c < op.value_dim; c++) {
    const double others = view.sums[c] - (hides ? op.value[row * op.value_dim + c] : 0);
    out[c] = out[c] * keep + added * others;
  }
  return top;
}

// Divides by the sums and stores what is asked for of the item's rows.
inline void ExactFinish(const ExactSoftmax& op, const ExactScratch& s, Size first_row, Size rows) {
  const bool constant = op.log_constant != nullptr;
  ValuesInView view{0, s.in_view};
  for (Size c = 0; constant && c < s.columns; c++) view.sums[c] = 0;
  for (Size r = 0; r < rows; r++) {
    const Size row = first_row + r;
    double sum = s.sum[r], reference = s.reference[r];
    double* out = s.out + r * s.columns;
    if (op.entropy) {
      const double entropy = log(sum) - kLn2D * (s.weighted[r] / sum);
      op.entropy[row] = sum == 0 ? 0 : (entropy < 0 ? 0 : entropy);
    }
    if (constant) reference = AddConstant(op, row, reference, &sum, out, view);
    if (op.lse) op.lse[row] = sum == 0 ? -kInfinityD : kLn2D * (reference + log2(sum));
    const double scale = sum == 0 ? 0 : 1 / sum;
    for (Size c = 0; op.out && c < op.value_dim; c++) {
      op.out[row * op.value_dim + c] = out[c] * scale;
    }
  }
}

inline void ExactItem(const ExactPlan& plan, Size item, float* workspace) {
  const ExactSoftmax& op = *plan.op;
  const ExactPacked packed(plan);
  Bump bump{workspace};
  const ExactScratch s(op, bump);
  const Size blocks = ExactItems(plan);
  // late rows first: under a causal mask they are the longest items
  const Size first_row = (blocks - 1 - item) * s.block;
  const Size rows = Least(s.block, op.query_len - first_row), padded = RoundUp(rows, kRows);
  const double unit = op.key_length ? 1 : kLog2ED;  // cosines stay as they are
  for (Size r = 0; r < padded; r++) {
    const Size row = (first_row + r) * op.head_dim;
    for (Size d = 0; d < s.d_stride; d++) {
      s.query[r * s.d_stride + d] = r < rows && d < op.head_dim ? ExactQuery(op, row + d) * unit : 0;
    }
    for (Size c = 0; c < s.columns; c++) s.out[r * s.columns + c] = 0;
    s.reference[r] = -kInfinityD;
    s.sum[r] = s.weighted[r] = 0;
  }
  const Size end = op.causal ? Least(op.key_len, first_row + rows) : op.key_len;
  for (Size first_key = 0; first_key < end; first_key += kExactKeys) {
    // blocks are those that were packed, whatever of them this item sees
    const Size keys = Least(kExactKeys, op.key_len - first_key);
    const Size start = op.causal ? Most(0, first_key - first_row) / kExactRows * kExactRows : 0;
    for (Size r = start; r < padded; r += kExactRows) {
      const Size count = Least(kExactRows, padded - r);
      ExactTileSums(op, packed, s, ExactTileAt(op, first_row + r, count, first_key, keys), r);
    }
  }
  ExactFinish(op, s, first_row, rows);
}

RFA_KERNELS_END
