// Attention over whole sequences, on queries and keys.
#include "bindings/arguments.h"
#include "bindings/exports.h"

namespace rfa::bindings {

namespace {

rfa::SoftmaxAttention softmax_of(const Object& from) {
  rfa::SoftmaxAttention op;
  read_sizes(op, from);
  op.query = input(array4_of(from, "query"));
  op.key = input(array4_of(from, "key"));
  op.value = input(array4_of(from, "value"));
  op.key_bias = input(array3_of(from, "keyBias"));
  op.key_mask = mask_of(from, "keyMask");
  op.scale = number_of(from, "scale");
  op.causal = flag_of(from, "causal");
  op.out = array4_of(from, "out");
  op.lse = array3_of(from, "lse");
  return op;
}

void softmax_attention(const CallbackInfo& info) {
  rfa::softmax_attention(softmax_of(info[0].As<Object>()));
}

// softmaxAttentionGradient(call of softmaxAttention, gradients); its out and lse hold what that wrote
void softmax_gradient(const CallbackInfo& info) {
  const Object call = info[0].As<Object>(), from = info[1].As<Object>();
  rfa::SoftmaxGradient op;
  op.forward = softmax_of(call);
  op.out = op.forward.out.data;
  op.lse = op.forward.lse.data;
  op.slopes = data_of(from.Get("slopes"));
  op.lse_slopes = data_of(from.Get("lseSlopes"));
  op.to_query = data_of(from.Get("query"));
  op.to_key = data_of(from.Get("key"));
  op.to_value = data_of(from.Get("value"));
  op.to_bias = data_of(from.Get("keyBias"));
  rfa::softmax_gradient(op);
}

void sample_keys(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::SampleKeys op;
  op.batch = size_of(from, "batch");
  op.heads = size_of(from, "heads");
  op.query_len = size_of(from, "queryLen");
  op.key_len = size_of(from, "keyLen");
  op.head_dim = size_of(from, "headDim");
  op.draws = size_of(from, "draws");
  op.query = input(array4_of(from, "query"));
  op.key = input(array4_of(from, "key"));
  op.uniform = input(array4_of(from, "uniform"));
  op.key_mask = mask_of(from, "keyMask");
  op.scale = number_of(from, "scale");
  op.causal = flag_of(from, "causal");
  // indices are 32-bit, as tfjs has no wider integers
  op.index = from.Get("index").As<Napi::Int32Array>().Data();
  op.keys = array4_of(from, "keys");
  rfa::sample_keys(op);
}

// segmentMeans(in, out, planes, columns, starts): starts is an Int32Array
void segment_means(const CallbackInfo& info) {
  const auto starts = info[4].As<Napi::Int32Array>();
  rfa::SegmentMeans op;
  op.in = data_of(info[0]);
  op.out = data_of(info[1]);
  op.planes = size_of(info[2]);
  op.columns = size_of(info[3]);
  op.starts = starts.Data();
  op.segments = static_cast<Size>(starts.ElementLength()) - 1;
  // segments cover their plane: the last one's end is the number of rows
  op.rows = op.starts[op.segments];
  rfa::segment_means(op);
}

void optimal_mixture(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::OptimalMixture op;
  op.batch = size_of(from, "batch");
  op.heads = size_of(from, "heads");
  op.query_len = size_of(from, "queryLen");
  op.head_dim = size_of(from, "headDim");
  op.value_dim = size_of(from, "valueDim");
  op.count = size_of(from, "count");
  op.proposals = size_of(from, "proposals");
  op.query = input(array4_of(from, "query"));
  op.vectors = input(array4_of(from, "vectors"));
  op.values = input(array4_of(from, "values"));
  op.bias = input(array3_of(from, "bias"));
  op.balance = input(array3_of(from, "balance"));
  op.affinity = input(array4_of(from, "affinity"));
  op.present = mask_of(from, "present");
  op.scale = number_of(from, "scale");
  op.coefficient = number_of(from, "coefficient");
  op.floor = number_of(from, "floor");
  op.out = array4_of(from, "out");
  rfa::optimal_mixture(op);
}

}  // namespace

void export_attention(Env env, Object exports) {
  export_procedure<softmax_attention>(env, exports, "softmaxAttention");
  export_procedure<softmax_gradient>(env, exports, "softmaxAttentionGradient");
  export_procedure<sample_keys>(env, exports, "sampleKeys");
  export_procedure<segment_means>(env, exports, "segmentMeans");
  export_procedure<optimal_mixture>(env, exports, "optimalMixture");
}

}  // namespace rfa::bindings
