// The kernels' only door: plain structs of pointers and sizes, and functions over them.
//
// Axes: B batch, H heads, L query length, S key length, D head dimension, Dv value dimension,
// M projection rows, F feature length. Layout [B, H, L, D], float32, last axis contiguous; the other
// axes have strides, counted in floats, and a stride of 0 repeats. Pointers need no alignment beyond
// that of a float. Outputs must not overlap inputs unless a struct says so.
//
// Callers validate: sizes are >= 0 and pointers valid for them. A size of 0 is fine everywhere.
// A null pointer in an optional member means "none". Calls block until done, spread their work over
// the pool (set_threads) and give the same bits for any number of threads. Calls from several
// threads at once are safe; they run one after the other. std::bad_alloc is thrown before any output
// is written; nothing else is thrown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rfa {

using Size = std::int64_t;

// Never a separate function: kernels for wide instruction sets use these, and a copy compiled there
// must not be the one that the linker keeps.
#if defined(__GNUC__) || defined(__clang__)
#define RFA_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define RFA_ALWAYS_INLINE inline
#endif

// ---- arrays ---------------------------------------------------------------------------------

// [B, H, rows, columns], columns contiguous.
template <typename T>
struct Array4Of {
  T* data = nullptr;
  Size batch_stride = 0;
  Size head_stride = 0;
  Size row_stride = 0;

  RFA_ALWAYS_INLINE explicit operator bool() const { return data != nullptr; }
  RFA_ALWAYS_INLINE T* at(Size batch, Size head, Size row = 0) const {
    return data + batch * batch_stride + head * head_stride + row * row_stride;
  }
};
// [B, H, n], n contiguous.
template <typename T>
struct Array3Of {
  T* data = nullptr;
  Size batch_stride = 0;
  Size head_stride = 0;

  RFA_ALWAYS_INLINE explicit operator bool() const { return data != nullptr; }
  RFA_ALWAYS_INLINE T* at(Size batch, Size head) const {
    return data + batch * batch_stride + head * head_stride;
  }
};
using Array4 = Array4Of<const float>;
using Array3 = Array3Of<const float>;
using MutableArray4 = Array4Of<float>;
using MutableArray3 = Array3Of<float>;

// A dense [B, heads, rows, columns] or [B, heads, n] array.
template <typename T>
RFA_ALWAYS_INLINE Array4Of<T> dense4(T* data, Size heads, Size rows, Size columns) {
  return {data, heads * rows * columns, rows * columns, columns};
}
template <typename T>
RFA_ALWAYS_INLINE Array3Of<T> dense3(T* data, Size heads, Size n) {
  return {data, heads * n, n};
}

// ---- features -------------------------------------------------------------------------------

// How a token x becomes features; p = W x' is the projection of x' (see Features).
enum class FeatureKind {
  kExplicit,       // x is phi (or log phi, where logarithms are asked for): F = columns of x
  kEluPlusOne,     // elu(x') + 1, no projection: F = D
  kTrigonometric,  // M^-1/2 [sin p, cos p]: F = 2M
  kRelu,           // max(p, 0): F = M
  kLogPositive,    // log-features p - |x'|^2/2: F = M
  kLogHyperbolic,  // log-features +-p - |x'|^2/2, plus signs first: F = 2M
};

// Tokens and the map to apply to them, tile by tile: features never go through memory.
//   x' = input_scale x                                    (unit_norm = false)
//   x' = input_scale x / (|x| + norm_epsilon), 0 for 0    (unit_norm = true)
struct Features {
  FeatureKind kind = FeatureKind::kExplicit;
  Array4 x;               // [B, H, n, D]; kExplicit: [B, H, n, F]
  Array4 projection;      // [1 or B, 1 or H, M, D] by strides (0 = shared)
  Size num_features = 0;  // M
  float input_scale = 1;
  float feature_scale = 1;  // multiplies features (not log-features), on top of M^-1/2
  bool unit_norm = false;
  float norm_epsilon = 0;
};

// F of features made from tokens with `columns` columns.
Size feature_dim(const Features& features, Size columns);

// What is done to a denominator before dividing by it (x / 0 counts as 0 throughout).
enum class Guard {
  kNone,      // den
  kAdd,       // den + bound
  kClamp,     // max(den, bound)
  kAbsClamp,  // max(|den|, bound)
  kNudge,     // den + 2 bound where |den| <= bound
};

// ---- attention ------------------------------------------------------------------------------

// out_i = sum_j p_ij v_j, p_i = softmax_j(scale q_i.k_j + key_bias_j); lse_i = log sum_j exp(..).
// Rows that see no key: out 0, lse -inf. A key_bias of -inf (or <= -1e30) removes the key.
struct SoftmaxAttention {
  Size batch = 0, heads = 0, query_len = 0, key_len = 0, head_dim = 0, value_dim = 0;
  Array4 query;                            // [B, H, L, D]
  Array4 key;                              // [B, H, S, D]
  Array4 value;                            // [B, H, S, Dv]
  Array3 key_bias;                         // [B, H, S], optional
  const std::uint8_t* key_mask = nullptr;  // [B, S] dense, nonzero = present, optional
  float scale = 1;
  bool causal = false;  // query i sees keys j <= i
  MutableArray4 out;    // [B, H, L, Dv]
  MutableArray3 lse;    // [B, H, L], optional
};
void softmax_attention(const SoftmaxAttention& op);

// Gradients of softmax_attention from the slopes of its outputs. Shared axes of its inputs are not summed over.
struct SoftmaxGradient {
  SoftmaxAttention forward;           // without outputs
  const float* out = nullptr;         // of the forward pass: [B, H, L, Dv]
  const float* lse = nullptr;         // [B, H, L]
  const float* slopes = nullptr;      // of out
  const float* lse_slopes = nullptr;  // optional
  float* to_query = nullptr;          // [B, H, L, D]
  float* to_key = nullptr;            // [B, H, S, D]
  float* to_value = nullptr;          // [B, H, S, Dv]
  float* to_bias = nullptr;           // [B, H, S], optional
};
void softmax_gradient(const SoftmaxGradient& op);

// Draws keys from the softmax of each query: index_in is the first key at which the weights
// p_i = softmax_j(scale q_i.k_j), cumulated, exceed uniform_in times their sum; a uniform of 1 counts as
// the float below. Rows that see no key draw key 0.
struct SampleKeys {
  Size batch = 0, heads = 0, query_len = 0, key_len = 0, head_dim = 0;
  Size draws = 0;                          // n, per query
  Array4 query;                            // [B, H, L, D]
  Array4 key;                              // [B, H, S, D], S > 0
  Array4 uniform;                          // [B, H, L, n] in [0, 1]
  const std::uint8_t* key_mask = nullptr;  // [B, S] dense, nonzero = present, optional
  float scale = 1;
  bool causal = false;            // query i sees keys j <= i
  std::int32_t* index = nullptr;  // [B, H, L, n] dense
  MutableArray4 keys;             // [B, H, L n, D], the keys themselves
};
void sample_keys(const SampleKeys& op);

// Means of runs of rows of dense planes [rows, columns]: segment c holds rows starts[c] up to
// starts[c + 1] - 1, at least one.
struct SegmentMeans {
  Size planes = 0, rows = 0, columns = 0;
  Size segments = 0;                     // C
  const std::int32_t* starts = nullptr;  // [C + 1]
  const float* in = nullptr;             // [planes, rows, columns]
  float* out = nullptr;                  // [planes, C, columns]
};
void segment_means(const SegmentMeans& op);

// out_n = sum_c p_nc v_c, p_nc ~ alpha_nc exp(scale q_n.w_c + bias_c) over c = 0..C'-1, with
// alpha_nc = max(floor, balance_c + coefficient (t_nc - mean_c t_nc)); vector c belongs to proposal
// c mod C. Rows without any proposal: 0.
struct OptimalMixture {
  Size batch = 0, heads = 0, query_len = 0, head_dim = 0, value_dim = 0;
  Size count = 0;                         // C', a multiple of C
  Size proposals = 0;                     // C > 0
  Array4 query;                           // [B, H, L, D]
  Array4 vectors;                         // w: [B, H, C', D]
  Array4 values;                          // [B, H, C', Dv]
  Array3 bias, balance;                   // [B, H, C']
  Array4 affinity;                        // t: [B, H, C, L]
  const std::uint8_t* present = nullptr;  // [B, C] dense, optional
  float scale = 1, coefficient = 1, floor = 0;
  MutableArray4 out;  // [B, H, L, Dv]
};
void optimal_mixture(const OptimalMixture& op);

// Features of every token, written out. Log kinds write logarithms.
struct FeatureMap {
  Size batch = 0, heads = 0, length = 0, head_dim = 0;
  Features input;     // not kExplicit
  MutableArray4 out;  // [B, H, length, F]
};
void feature_map(const FeatureMap& op);

// Gradients of feature_map from the slopes of its output. Arrays dense.
struct FeatureMapGradient {
  Size batch = 0, heads = 0, length = 0, head_dim = 0;
  Features input;
  const float* slopes = nullptr;   // [B, H, length, F]
  float* to_x = nullptr;           // [B, H, length, D]
  float* to_projection = nullptr;  // [B, H, M, D], of each head by itself
};
void feature_map_gradient(const FeatureMapGradient& op);

// num_i = phi(q_i)^T sum_j w_ij phi(k_j) v_j^T, den_i = phi(q_i)^T sum_j w_ij phi(k_j).
// With key_log_weight (w_ij has a factor exp(key_log_weight_j)) numerator and denominator share an
// unknown positive factor per query, which depends on what the query may see only.
struct LinearAttention {
  Size batch = 0, heads = 0, query_len = 0, key_len = 0, value_dim = 0;
  Size head_dim = 0;                       // columns of query.x and key.x
  Features query, key;                     // same F; not the log kinds
  Array4 value;                            // [B, H, S, Dv]
  const std::uint8_t* key_mask = nullptr;  // [B, S] dense, optional
  Array3 key_log_weight;                   // [B, H, S], optional
  Array3 log_gate;                         // [B, H, S], <= 0, causal only, optional
  Array4 initial_state;                    // [B, H, F, Dv], causal, without key_log_weight
  Array3 initial_normalizer;               // [B, H, F], with initial_state
  bool causal = false;
  bool normalize = false;         // true: out = num / guard(den)
  Guard guard = Guard::kNone;     // with normalize
  float guard_bound = 0;          // with normalize
  MutableArray4 out;              // [B, H, L, Dv]: the numerator, or the quotient
  MutableArray3 denominator;      // [B, H, L], never guarded; optional with normalize
};
void linear_attention(const LinearAttention& op);

// Gradients of linear_attention from the slopes of both outputs. Arrays dense; those of inputs that are not there, and of
// projections of kinds without one, are null. The factor that numerator and denominator share under key_log_weight
// counts as constant.
struct LinearAttentionGradient {
  LinearAttention forward;                    // as called; its outputs as they were written, where it normalizes
  const float* slopes = nullptr;              // of out, [B, H, L, Dv]
  const float* denominator_slopes = nullptr;  // [B, H, L]
  float *to_query = nullptr, *to_key = nullptr;  // [B, H, n, D]
  float* to_value = nullptr;                     // [B, H, S, Dv]
  float *to_query_projection = nullptr, *to_key_projection = nullptr;  // [B, H, M, D], of each head by itself
  float *to_key_log_weight = nullptr, *to_log_gate = nullptr;          // [B, H, S]
  float *to_initial_state = nullptr, *to_initial_normalizer = nullptr;  // [B, H, F, Dv], [B, H, F]
};
void linear_attention_gradient(const LinearAttentionGradient& op);

// out_i = sum_{j <= i} w_ij v_j / sum_{j <= i} w_ij, w_ij = sum_s exp(a_is + b_js), without epsilon
// and without any dependence of row i on finite keys and values j > i (as in a masked product, an
// infinity or NaN in a value reaches the rows of its tile). Rows that see no key: 0.
struct CausalFeatureAttention {
  Size batch = 0, heads = 0, query_len = 0, key_len = 0, value_dim = 0;
  Size head_dim = 0;                       // columns of query.x and key.x
  Features query, key;                     // a and b: kExplicit, kLogPositive or kLogHyperbolic
  Array4 value;                            // [B, H, S, Dv]
  const std::uint8_t* key_mask = nullptr;  // [B, S] dense, optional
  MutableArray4 out;                       // [B, H, L, Dv]
};
void causal_feature_attention(const CausalFeatureAttention& op);

// Gradients of causal_feature_attention from the slopes of its output. All arrays dense, those of projections of each head
// by itself.
struct CausalFeatureGradient {
  CausalFeatureAttention forward;  // without output
  const float* out = nullptr;      // of the forward pass: [B, H, L, Dv]
  const float* slopes = nullptr;   // [B, H, L, Dv]
  float* to_query = nullptr;       // of query.x: [B, H, L, D]
  float* to_key = nullptr;         // [B, H, S, D]
  float* to_value = nullptr;       // [B, H, S, Dv]
  float* to_query_projection = nullptr;  // [B, H, M, D], optional
  float* to_key_projection = nullptr;    // [B, H, M, D], optional
};
void causal_feature_gradient(const CausalFeatureGradient& op);

// ---- decoding: one token, state updated in place --------------------------------------------

// Running sums of explicit features: S <- g S + (1 - g) phi(k) v^T, z likewise (no gate: S += ..),
// then out = phi(q)^T S / guard(phi(q).(z + normalizer_epsilon)).
// Features: any but the log kinds. projection here is TRANSPOSED, [1 or H, D, M].
struct LinearDecode {
  Size batch = 0, heads = 0, value_dim = 0, head_dim = 0;
  Features query, key;            // x: [B, H, 1, D]
  Array4 value;                   // [B, H, 1, Dv]
  Array3 key_log_weight;          // [B, H, 1], optional: needs log_scale
  Array3 gate;                    // [B, H, 1] in (0, 1), optional
  float normalizer_epsilon = 0;
  Guard guard = Guard::kNone;
  float guard_bound = 0;
  MutableArray4 state;            // [B, H, F, Dv], in place; starts at 0
  MutableArray3 normalizer;       // [B, H, F], in place; starts at 0
  MutableArray3 log_scale;        // [B, H, 1], in place; starts at -1e30; with key_log_weight
  MutableArray4 out;              // [B, H, 1, Dv]
};
void linear_decode(const LinearDecode& op);

// Running sums of positive features given by logarithms, with a running maximum per feature:
// S_s = sum_j exp(b_js - top_s) v_j, z_s = sum_j exp(b_js - top_s); exact for any norms.
// Features: kExplicit, kLogPositive, kLogHyperbolic; projection TRANSPOSED, [1 or H, D, M].
struct LogFeatureDecode {
  Size batch = 0, heads = 0, value_dim = 0, head_dim = 0;
  Features query, key;         // x: [B, H, 1, D]
  Array4 value;                // [B, H, 1, Dv]
  MutableArray4 state;         // [B, H, F, Dv], in place; starts at 0
  MutableArray3 normalizer;    // [B, H, F], in place; starts at 0
  MutableArray3 top;           // [B, H, F], in place, natural log; starts at -1e30
  MutableArray4 out;           // [B, H, 1, Dv]
};
void log_feature_decode(const LogFeatureDecode& op);

// Exact attention over a cache: writes key and value into row `length` of the caches, then attends
// over rows 0..length. The caches need more than `length` rows.
struct CacheDecode {
  Size batch = 0, heads = 0, head_dim = 0, value_dim = 0;
  Size length = 0;            // tokens already in the caches
  Array4 query, key;          // [B, H, 1, D]
  Array4 value;               // [B, H, 1, Dv]
  float scale = 1;
  MutableArray4 key_cache;    // [B, H, capacity, D], in place
  MutableArray4 value_cache;  // [B, H, capacity, Dv], in place
  MutableArray4 out;          // [B, H, 1, Dv]
};
void cache_decode(const CacheDecode& op);

// ---- plain tensor operations ----------------------------------------------------------------

enum class Activation { kNone, kRelu, kRelu6, kElu, kGelu, kGeluTanh, kSilu };

// out_n = activation(a_n b_n + bias), n = 0..batch-1. Batch strides may be 0.
struct MatMul {
  Size batch = 0, rows = 0, columns = 0, inner = 0;
  const float* a = nullptr;  // [rows, inner], or [inner, rows] with transpose_a
  const float* b = nullptr;  // [inner, columns], or [columns, inner] with transpose_b
  Size a_batch_stride = 0, a_row_stride = 0;  // row: of the matrix as stored
  Size b_batch_stride = 0, b_row_stride = 0;
  bool transpose_a = false, transpose_b = false;
  const float* bias = nullptr;  // [columns], optional
  Activation activation = Activation::kNone;
  float* out = nullptr;  // [rows, columns]
  Size out_batch_stride = 0, out_row_stride = 0;
};
void mat_mul(const MatMul& op);

// Maximum errors in ULP over the whole float range stand in math-inl.h; relu, square, negate, abs, sqrt, reciprocal,
// sign and step round correctly, rsqrt has 1.5 ULP, sigmoid 3.
enum class Unary {
  kExp, kLog, kSin, kCos, kRelu, kElu, kSquare, kNegate, kAbs, kSqrt, kRsqrt, kReciprocal,
  kSign,  // 0 for NaN
  kStep,  // 1 above 0, else 0; NaN stays
  kSigmoid,
};
// out_i = f(in_i). out may be in.
void unary(Unary op, const float* in, float* out, Size count);

enum class Binary {
  kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum, kSquaredDifference,
  kPower,  // in double; NaN where the exponent is NaN, and for 1 and -1 to an infinite one, as in JavaScript
  // comparisons, which write 1 or 0 to `truth` in place of `out`
  kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual,
};
constexpr int kMaxRank = 8;
// out is dense of the given shape; a and b have a stride per axis (0 = broadcast). out may be a or
// b where that one is dense and not broadcast. rank <= kMaxRank.
struct BinaryOp {
  Binary op = Binary::kAdd;
  int rank = 0;
  Size shape[kMaxRank] = {};
  const float* a = nullptr;
  const float* b = nullptr;
  Size a_strides[kMaxRank] = {};
  Size b_strides[kMaxRank] = {};
  float* out = nullptr;
  std::uint8_t* truth = nullptr;  // of comparisons
};
void binary(const BinaryOp& op);

// out_i = yes_i where condition_i is 1, else no_i.
void select(const std::uint8_t* condition, const float* yes, const float* no, float* out, Size count);

// Over the middle axis of a dense [outer, length, inner] array. Of nothing: sum and mean 0, product 1, max and
// log-sum-exp -inf, min inf. Log-sum-exp and sums of squares with inner = 1 only. Sums in blocks of 1024 numbers in 4 W
// chains (rows), or of 64 in one (inner > 1), then in double: error at most 72 2^-24 of the sum of magnitudes.
enum class Reduction { kSum, kMax, kLogSumExp, kMean, kMin, kProduct, kSquareSum };
void reduce(Reduction op, const float* in, float* out, Size outer, Size length, Size inner);
// The same with inner = 1.
void reduce_rows(Reduction op, const float* in, float* out, Size rows, Size columns);
// Which columns the rows of matrices on top of each other see; by default all of them.
struct RowVisibility {
  Size causal_rows = 0;  // rows of one matrix, in which row i sees columns 0 .. i only; 0 = not causal
  const float* present = nullptr;  // [.., columns], 0 = hidden; null = all are there
  Size shared_rows = 1;  // rows that share one row of `present`
};
// Softmax of each row of a dense [rows, columns] array over the columns that it sees, 0 at the others.
// Of finite numbers, hidden ones too. A row that sees no column is zero. out may be in.
void softmax_rows(const float* in, float* out, Size rows, Size columns,
                  const RowVisibility& seen = {});

// Cross entropy of the softmax of each row of dense logits at one of its columns: log sum_c exp(x_c) - x_label.
struct CrossEntropy {
  Size rows = 0, columns = 0;
  const float* in = nullptr;             // [rows, columns]
  const std::int32_t* labels = nullptr;  // [rows], each in 0 .. columns - 1
  float* out = nullptr;                  // [rows]
};
void cross_entropy(const CrossEntropy& op);

// Its gradient, slope (softmax(x) - [c = label]).
struct CrossEntropyGradient {
  Size rows = 0, columns = 0;
  const float* in = nullptr;             // [rows, columns]
  const std::int32_t* labels = nullptr;  // [rows]
  float slope = 1;                       // of each row's loss
  float* out = nullptr;                  // [rows, columns]; may be in
};
void cross_entropy_gradient(const CrossEntropyGradient& op);

// Each row of a dense [rows, columns] array: (x - mean) / sqrt(variance + epsilon) weight + bias; not
// centred: x / sqrt(mean of x^2 + epsilon) weight + bias. out may be in.
struct NormRows {
  Size rows = 0, columns = 0;
  const float* in = nullptr;
  const float* weight = nullptr;  // [columns]
  const float* bias = nullptr;    // [columns], optional
  float epsilon = 0;
  bool centred = true;
  float* out = nullptr;
};
void norm_rows(const NormRows& op);

// Gradients of norm_rows from the slopes of its output.
struct NormRowsGradient {
  Size rows = 0, columns = 0;
  const float* in = nullptr;
  const float* weight = nullptr;  // [columns]
  const float* slopes = nullptr;  // [rows, columns]
  float epsilon = 0;
  bool centred = true;
  float* to_in = nullptr;      // [rows, columns]
  float* to_weight = nullptr;  // [columns], sums over all rows
  float* to_bias = nullptr;    // [columns]
};
void norm_rows_gradient(const NormRowsGradient& op);

// A step of Adam: m <- decay1 m + share1 g, v <- decay2 v + share2 g^2, x <- x - rate m / (sqrt(scale v) + epsilon), where
// the caller puts what corrects the bias of m into rate, that of v into scale. Outputs may be the inputs.
struct AdamStep {
  Size count = 0;
  const float *value = nullptr, *gradient = nullptr, *first = nullptr, *second = nullptr;  // x, g, m, v
  float decay1 = 0, share1 = 1, decay2 = 0, share2 = 1, rate = 0, scale = 1, epsilon = 0;
  float *to_value = nullptr, *to_first = nullptr, *to_second = nullptr;
};
void adam_step(const AdamStep& op);

// out[sum_a i_a out_stride_a] = in[sum_a i_a in_stride_a] for every index i below the shape: slices, transpositions,
// padding, joining. Axes in the order in which they lie in out, which the copy does not write twice. Strides in
// elements: 0 in `in` repeats, a negative one runs backwards.
struct StridedCopy {
  int rank = 0;
  Size shape[kMaxRank] = {};
  Size in_strides[kMaxRank] = {};
  Size out_strides[kMaxRank] = {};
  Size element = 4;          // bytes: 4 or 1
  const void* in = nullptr;  // where index 0 lies
  void* out = nullptr;
};
void strided_copy(const StridedCopy& op);

// out[b, o, i] = in[b, o, index[b, i]], rows of `columns` numbers.
struct GatherRows {
  Size batch = 0, outer = 0, length = 0, columns = 0;  // in: [batch, outer, length, columns]
  Size count = 0;                                      // out: [batch, outer, count, columns]
  const std::int32_t* index = nullptr;                 // [batch, count], each in 0 .. length - 1
  const float* in = nullptr;
  float* out = nullptr;
};
void gather_rows(const GatherRows& op);

// out[s] = sum of the rows of `in` with index s; rows with another index than 0 .. segments - 1 count nowhere.
struct SegmentSums {
  Size rows = 0, columns = 0, segments = 0;
  const std::int32_t* index = nullptr;  // [rows]
  const float* in = nullptr;            // [rows, columns]
  float* out = nullptr;                 // [segments, columns]
};
void segment_sums(const SegmentSums& op);

// Running sums over the middle axis of a dense [outer, length, inner] array, one float32 addition after the other.
struct CumulativeSums {
  Size outer = 0, length = 0, inner = 0;
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the last one
  const float* in = nullptr;
  float* out = nullptr;
};
void cumulative_sums(const CumulativeSums& op);

// out_i = log sum_{j <= i} exp(in_j) along the middle axis of a dense [outer, length, inner] array. The sum is relative to
// the largest number so far, in two parts of which one starts anew every 64 places.
struct RunningLogSums {
  Size outer = 0, length = 0, inner = 0;
  const float* in = nullptr;
  float* out = nullptr;
};
void running_log_sums(const RunningLogSums& op);

// ---- judging estimates, in double precision -------------------------------------------------

// An estimate held against the exact output, head by head, and taken into a running mean of the
// differences d = estimate - exact: mean <- mean + share (d - mean), rounded to float.
struct ErrorSums {
  Size heads = 0, rows = 0, value_dim = 0;  // rows of one head
  const float* estimate = nullptr;          // [heads, rows, Dv + 1]: the last column is a row sum
  const double* exact = nullptr;            // [heads, rows, Dv]
  float* mean = nullptr;                    // [heads, rows, Dv], in place
  double share = 1;                         // 1 / number of estimates in the mean, this one included
  // sums of d over estimates, in place: [ceil(heads rows / group_step), Dv], of every group_step-th
  // row of all heads; optional
  float* group = nullptr;
  Size group_step = 1;
  double* out = nullptr;  // [heads, kErrorSums]
  double* rows_sum = nullptr;  // [heads, Dv]: of d over the rows of a head
};
// Fields of a head's sums, in the order of `out`.
enum ErrorSum {
  kSquares,           // of d^2
  kAbsolutes,         // of |d|
  kLargest,           // |d|; NaN where an entry of the estimate is not finite
  kCosines,           // over rows, between estimate and exact row; 1 where both are zero
  kNotFinite,         // entries of the estimate, counted
  kRowSumDeviations,  // of |row sum - 1|
  kSpread,            // of (d - mean before) (d - mean after)
  kErrorSums,
};
void error_sums(const ErrorSums& op);

// Inner products of all pairs of some vectors: x_j.x_i at j (j - 1) / 2 + i for i < j.
struct PairProducts {
  Size count = 0, length = 0;
  const float* vectors = nullptr;  // [count, length]
  double* out = nullptr;           // [count (count - 1) / 2]
};
void pair_products(const PairProducts& op);

// Next-token distributions of two models at some places. The fields of a place stand `places` numbers apart.
struct NextTokens {
  Size places = 0, vocabulary = 0;
  const float* original = nullptr;    // logits, [places, vocabulary]
  const float* exchanged = nullptr;   // the same
  const std::int32_t* next = nullptr; // [places], the token that follows; -1: zeros for this place
  double* out = nullptr;              // [kNextTokenFields, places]
};
enum NextTokenField {
  kOriginalNats,   // -ln p of the token that follows
  kExchangedNats,  // -ln q of it
  kDivergence,     // KL of q from p: sum p (ln p - ln q)
  kSameTop,        // 1 where both have their (first) maximum at the same token, else 0
  kNextTokenFields,
};
void next_tokens(const NextTokens& op);

// Exact attention of one head: out_i = sum_j p_ij v_j, p_ij ~ exp(l_ij) + exp(log_constant_i) over the
// keys in view, l_ij = q_i.k_j + key_bias_j. Finite numbers of any size, and biases above -inf. Rows that see
// no key: out 0, lse -inf, entropy 0.
// With key_length the weights follow the arc-cosine kernel instead, p_ij ~ key_length_j f(l_ij) with
// f(c) = sin t + (pi - t) c, t = acos c of unit vectors q and k; without log_constant, lse and entropy.
struct ExactSoftmax {
  Size query_len = 0, key_len = 0, head_dim = 0, value_dim = 0;
  const double* query = nullptr;         // [L, D]
  const double* key = nullptr;           // [S, D]
  const float* query_floats = nullptr;   // both in place of those, times scale
  const float* key_floats = nullptr;
  double scale = 1;
  const double* key_bias = nullptr;      // [S], optional
  const double* key_length = nullptr;    // [S], optional
  const float* value = nullptr;          // [S, Dv], with out
  const double* log_constant = nullptr;  // [L], -inf for none; optional
  bool causal = false;                   // query i sees keys j <= i
  bool excludes_self = false;            // query i does not see key i, unless it sees no other
  double* out = nullptr;                 // [L, Dv], optional
  double* lse = nullptr;                 // [L], log of the sum of weights, the constant included; optional
  double* entropy = nullptr;             // [L], nats, of the weights without the constant; optional
};
void exact_softmax(const ExactSoftmax& op);

// ---- instruction set, threads, speed --------------------------------------------------------

// What runs. `error` is empty unless RFA_ISA names an unknown or unsupported instruction set; then
// every operation still works, on the best supported set, and the caller should refuse to go on.
struct Runtime {
  std::string isa;        // "avx512", "avx2", "neon" or "scalar"
  std::string available;  // every usable set, best first, e.g. "avx512,avx2,scalar"
  int lanes = 1;          // floats per vector
  bool forced = false;    // chosen by RFA_ISA or select_isa
  std::string error;
  std::string compiler;   // e.g. "gcc 12.2.0"
  std::string build;      // "release", "debug" or "sanitize"
};
Runtime runtime();

// Chooses an instruction set by name ("" = best). Returns "" or one sentence that says why not, with
// the choice left as it was. Meant for tests and benchmarks.
std::string select_isa(const std::string& name);

// Threads that share the work of a call, the calling one included; 1 = no pool. Default 1. Calls from
// several threads of a process run one after the other; they share this number and the instruction set.
void set_threads(int count);
int threads();

// Binds each thread to one processor, the calling one to the first: otherwise times of benchmarks depend on where
// the system puts threads. The calling thread stays there, the others until the next set_threads. Returns whether
// it was done.
bool bind_threads(const std::vector<int>& processors);

// Peak float32 rate of one thread in GFLOP/s: independent multiply-adds in registers only, best of
// several rounds within about `seconds`.
double fma_peak(double seconds = 0.1);

// Bytes of workspace that the threads hold between calls; release_workspace frees them.
Size workspace_bytes();
void release_workspace();

}  // namespace rfa
