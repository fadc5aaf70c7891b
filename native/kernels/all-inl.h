// Every kernel for the instruction set of this translation unit, as a table.
#pragma once

#include "kernels/cache-decode-inl.h"
#include "kernels/causal-feature-attention-inl.h"
#include "kernels/causal-feature-gradient-inl.h"
#include "kernels/causal-linear-attention-inl.h"
#include "kernels/columns-inl.h"
#include "kernels/cross-entropy-inl.h"
#include "kernels/elementwise-inl.h"
#include "kernels/error-sums-inl.h"
#include "kernels/exact-softmax-inl.h"
#include "kernels/feature-gradient-inl.h"
#include "kernels/feature-map-inl.h"
#include "kernels/fma-peak-inl.h"
#include "kernels/linear-attention-inl.h"
#include "kernels/linear-decode-inl.h"
#include "kernels/linear-gradient-inl.h"
#include "kernels/log-feature-decode-inl.h"
#include "kernels/mat-mul-inl.h"
#include "kernels/matrix-draws-inl.h"
#include "kernels/next-tokens-inl.h"
#include "kernels/normals-inl.h"
#include "kernels/optimal-mixture-inl.h"
#include "kernels/pair-products-inl.h"
#include "kernels/running-log-sums-inl.h"
#include "kernels/sample-keys-inl.h"
#include "kernels/segment-means-inl.h"
#include "kernels/softmax-attention-inl.h"
#include "kernels/softmax-gradient-inl.h"
#include "kernels/table.h"

RFA_KERNELS_BEGIN

constexpr KernelTable kTable = {
    RFA_ISA_NAME,
    W,
    {SoftmaxItems, SoftmaxScratchFloats, SoftmaxItem},
    SoftmaxGradientParts,
    {SoftmaxGradientItems, SoftmaxGradientScratchFloats, SoftmaxGradientItem},
    {SampleKeysItems, SampleKeysScratch, SampleKeysItem},
    {SegmentMeansItems, SegmentMeansScratch, SegmentMeansItem},
    {MixtureItems, MixtureScratchFloats, MixtureItem},
    {FeatureMapItems, FeatureMapScratch, FeatureMapItem},
    {FeatureMapGradientItems, FeatureMapGradientScratch, FeatureMapGradientItem},
    LinearParts,
    LinearStateFloats,
    {LinearSumItems, LinearSumScratch, LinearSumItem},
    {LinearMergeItems, LinearMergeScratch, LinearMergeItem},
    {LinearReadItems, LinearReadScratch, LinearReadItem},
    {CausalLinearItems, CausalLinearScratch, CausalLinearItem},
    {LinearGradientItems, LinearGradientScratch, LinearGradientItem},
    {CausalFeatureItems, CausalFeatureScratch, CausalFeatureItem},
    {FeatureGradientItems, FeatureGradientScratch, FeatureGradientItem},
    {LinearDecodeItems, LinearDecodeScratch, LinearDecodeItem},
    {LogFeatureDecodeItems, LogFeatureDecodeScratch, LogFeatureDecodeItem},
    {CacheDecodeItems, CacheDecodeScratch, CacheDecodeItem},
    {ProductItems, ProductScratchFloats, ProductItem},
    ErrorBlocks,
    {ErrorItems, ErrorScratch, ErrorItem},
    {PairItems, PairScratch, PairItem},
    {TokenItems, TokenScratch, TokenItem},
    ExactPackedDoubles,
    {ExactPackItems, ExactPackScratch, ExactPackItem},
    {ExactItems, ExactScratchFloats, ExactItem},
    {NormalBlocksItems, NormalBlocksScratch, NormalBlocksItem},
    {OrthogonalItems, OrthogonalScratch, OrthogonalItem},
    {OrthonormalizeItems, OrthonormalizeScratch, OrthonormalizeItem},
    UnaryRange,
    BinaryRange,
    AdamRange,
    SelectRange,
    ReduceRows,
    ReduceColumns,
    RunningLogSumStrips,
    SoftmaxRows,
    CrossEntropyRows,
    CrossEntropySlopes,
    NormalizeRows,
    NormalizeRowsGradient,
    TransposePlane,
    RandomWords,
    NormalDoubles,
    NormalFloats,
    NormalsOfWords,
    Exp2Weights,
    Exp2WeightsDouble,
    FmaRounds,
};

RFA_KERNELS_END
