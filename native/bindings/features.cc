// Feature maps, and attention on features over whole sequences.
#include "bindings/arguments.h"
#include "bindings/exports.h"

namespace rfa::bindings {

namespace {

void feature_map(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::FeatureMap op;
  op.batch = size_of(from, "batch");
  op.heads = size_of(from, "heads");
  op.length = size_of(from, "length");
  op.head_dim = size_of(from, "headDim");
  op.input = features_of(from, "input");
  op.out = array4_of(from, "out");
  rfa::feature_map(op);
}

// featureMapGradient({.., input, slopes, toX, toProjection})
void feature_map_gradient(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::FeatureMapGradient op;
  op.batch = size_of(from, "batch");
  op.heads = size_of(from, "heads");
  op.length = size_of(from, "length");
  op.head_dim = size_of(from, "headDim");
  op.input = features_of(from, "input");
  op.slopes = data_of(from.Get("slopes"));
  op.to_x = data_of(from.Get("toX"));
  op.to_projection = data_of(from.Get("toProjection"));
  rfa::feature_map_gradient(op);
}

rfa::LinearAttention linear_attention_of(const Object& from) {
  rfa::LinearAttention op;
  read_sizes(op, from);
  op.query = features_of(from, "query");
  op.key = features_of(from, "key");
  op.value = input(array4_of(from, "value"));
  op.key_mask = mask_of(from, "keyMask");
  op.key_log_weight = input(array3_of(from, "keyLogWeight"));
  op.log_gate = input(array3_of(from, "logGate"));
  op.initial_state = input(array4_of(from, "initialState"));
  op.initial_normalizer = input(array3_of(from, "initialNormalizer"));
  op.causal = flag_of(from, "causal");
  op.normalize = flag_of(from, "normalize");
  op.guard = code_of<rfa::Guard>(from.Get("guard"));
  op.guard_bound = number_of(from, "guardBound");
  op.out = array4_of(from, "out");
  op.denominator = array3_of(from, "denominator");
  return op;
}

void linear_attention(const CallbackInfo& info) {
  rfa::linear_attention(linear_attention_of(info[0].As<Object>()));
}

// linearAttentionGradient(call of linearAttention, gradients)
void linear_attention_gradient(const CallbackInfo& info) {
  const Object from = info[1].As<Object>();
  rfa::LinearAttentionGradient op;
  op.forward = linear_attention_of(info[0].As<Object>());
  op.slopes = data_of(from.Get("slopes"));
  op.denominator_slopes = data_of(from.Get("denominatorSlopes"));
  op.to_query = data_of(from.Get("query"));
  op.to_key = data_of(from.Get("key"));
  op.to_value = data_of(from.Get("value"));
  op.to_query_projection = data_of(from.Get("queryProjection"));
  op.to_key_projection = data_of(from.Get("keyProjection"));
  op.to_key_log_weight = data_of(from.Get("keyLogWeight"));
  op.to_log_gate = data_of(from.Get("logGate"));
  op.to_initial_state = data_of(from.Get("initialState"));
  op.to_initial_normalizer = data_of(from.Get("initialNormalizer"));
  rfa::linear_attention_gradient(op);
}

rfa::CausalFeatureAttention causal_feature_of(const Object& from) {
  rfa::CausalFeatureAttention op;
  read_sizes(op, from);
  op.query = features_of(from, "query");
  op.key = features_of(from, "key");
  op.value = input(array4_of(from, "value"));
  op.key_mask = mask_of(from, "keyMask");
  op.out = array4_of(from, "out");
  return op;
}

void causal_feature_attention(const CallbackInfo& info) {
  rfa::causal_feature_attention(causal_feature_of(info[0].As<Object>()));
}

// causalFeatureGradient(call of causalFeatureAttention, gradients); its out holds what that wrote
void causal_feature_gradient(const CallbackInfo& info) {
  const Object from = info[1].As<Object>();
  rfa::CausalFeatureGradient op;
  op.forward = causal_feature_of(info[0].As<Object>());
  op.out = op.forward.out.data;
  op.slopes = data_of(from.Get("slopes"));
  op.to_query = data_of(from.Get("query"));
  op.to_key = data_of(from.Get("key"));
  op.to_value = data_of(from.Get("value"));
  op.to_query_projection = data_of(from.Get("queryProjection"));
  op.to_key_projection = data_of(from.Get("keyProjection"));
  rfa::causal_feature_gradient(op);
}

}  // namespace

void export_features(Env env, Object exports) {
  export_procedure<feature_map>(env, exports, "featureMap");
  export_procedure<feature_map_gradient>(env, exports, "featureMapGradient");
  export_procedure<linear_attention>(env, exports, "linearAttention");
  export_procedure<linear_attention_gradient>(env, exports, "linearAttentionGradient");
  export_procedure<causal_feature_attention>(env, exports, "causalFeatureAttention");
  export_procedure<causal_feature_gradient>(env, exports, "causalFeatureGradient");
}

}  // namespace rfa::bindings
