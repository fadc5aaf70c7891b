// What one instruction set offers: plain functions, one table per set.
#pragma once

#include "random.h"
#include "rfa.h"

namespace rfa {

// An operation cut into independent items of one thread each, which need `scratch` floats.
template <class Op>
struct ItemKernel {
  Size (*items)(const Op&);
  Size (*scratch)(const Op&);
  void (*run)(const Op&, Size item, float* workspace);
};

// Bidirectional linear attention for a wave of (batch, head) pairs with states that fit in memory together.
// `states` holds pairs * parts states of state_floats each.
struct LinearPlan {
  const LinearAttention* op;
  Size first_pair, pairs, parts, state_floats;
  float* states;
};

// Shares of the key blocks of each head; to_query holds as many arrays of queries.
struct SoftmaxGradientPlan {
  const SoftmaxGradient* op;
  Size parts;
  float* to_query;
};

// Sums of errors, [items, kErrorSums] and [items, Dv] before they are merged in the order of items.
struct ErrorSumsPlan {
  const ErrorSums* op;
  Size blocks;  // items per head
  double *parts, *rows_sums;
};

// Products over a part of the length each, [items, pairs] before they are added in the order of items.
struct PairProductsPlan {
  const PairProducts* op;
  Size pairs;
  double* parts;
};

// Exact attention with keys and values packed for all items.
struct ExactPlan {
  const ExactSoftmax* op;
  double* packed;
};

struct KernelTable {
  const char* name;
  int lanes;
  ItemKernel<SoftmaxAttention> softmax_attention;
  Size (*softmax_gradient_parts)(const SoftmaxGradient&);
  ItemKernel<SoftmaxGradientPlan> softmax_gradient;
  ItemKernel<SampleKeys> sample_keys;
  ItemKernel<SegmentMeans> segment_means;
  ItemKernel<OptimalMixture> optimal_mixture;
  ItemKernel<FeatureMap> feature_map;
  ItemKernel<FeatureMapGradient> feature_map_gradient;
  Size (*linear_parts)(const LinearAttention&);
  Size (*linear_state_floats)(const LinearAttention&);
  ItemKernel<LinearPlan> linear_sum, linear_merge, linear_read;
  ItemKernel<LinearAttention> causal_linear_attention;
  ItemKernel<LinearAttentionGradient> linear_attention_gradient;
  ItemKernel<CausalFeatureAttention> causal_feature_attention;
  ItemKernel<CausalFeatureGradient> causal_feature_gradient;
  ItemKernel<LinearDecode> linear_decode;
  ItemKernel<LogFeatureDecode> log_feature_decode;
  ItemKernel<CacheDecode> cache_decode;
  ItemKernel<MatMul> mat_mul;
  Size (*error_blocks)(const ErrorSums&);
  ItemKernel<ErrorSumsPlan> error_sums;
  ItemKernel<PairProductsPlan> pair_products;
  ItemKernel<NextTokens> next_tokens;
  Size (*exact_packed_doubles)(const ExactSoftmax&);
  ItemKernel<ExactPlan> exact_pack, exact_softmax;
  ItemKernel<NormalBlocks> normal_blocks;
  ItemKernel<OrthogonalRows> orthogonal_rows;
  ItemKernel<Orthonormalize> orthonormalize;
  // the following work on a part of a call: a range of elements or rows, one plane
  void (*unary)(Unary, const float* in, float* out, Size count);
  void (*binary)(const BinaryOp&, Size first, Size count);
  void (*adam)(const AdamStep&, Size first, Size count);
  void (*select)(const std::uint8_t* condition, const float* yes, const float* no, float* out, Size count);
  void (*reduce_rows)(Reduction, const float* in, float* out, Size rows, Size columns);
  void (*reduce_columns)(Reduction, const float* in, float* out, Size length, Size stride, Size columns);
  // strips of 4 vectors of one plane
  void (*running_log_sums)(const RunningLogSums&, Size first, Size count);
  void (*softmax_rows)(const float* in, float* out, Size first, Size count, Size columns,
                       const RowVisibility&);
  void (*cross_entropy)(const CrossEntropy&, Size first, Size count);
  void (*cross_entropy_gradient)(const CrossEntropyGradient&, Size first, Size count);
  void (*norm_rows)(const NormRows&, Size first, Size count);
  void (*norm_rows_gradient)(const NormRowsGradient&, Size first, Size count, float* sums);
  void (*transpose_plane)(const float* in, Size in_stride, float* out, Size out_stride, Size rows,
                          Size columns);
  // random blocks, and normals from a block on
  void (*random_words)(const RandomStream&, Size blocks, std::uint32_t* out);
  void (*normal_doubles)(const RandomStream&, Size first_block, Size count, double* out);
  void (*normal_floats)(const RandomStream&, Size first_block, Size count, float* out);
  // the two normals of given blocks; here for tests
  void (*normals_of_words)(const std::uint32_t* words, Size blocks, double* out);
  // 2^x for weights, as the kernels use it (math-inl.h); here for tests
  void (*exp2_weights)(const float* in, float* out, Size count);
  void (*exp2_weights_double)(const double* in, double* out, Size count);
  double (*fma_rounds)(Size rounds, float* sink);
};

// Null where this build has no such instruction set.
const KernelTable* avx512_kernels();
const KernelTable* avx2_kernels();
const KernelTable* neon_kernels();
const KernelTable* scalar_kernels();

}  // namespace rfa
