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

void linear_attention(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
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
  rfa::linear_attention(op);
}

void causal_feature_attention(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::CausalFeatureAttention op;
  read_sizes(op, from);
  op.query = features_of(from, "query");
  op.key = features_of(from, "key");
  op.value = input(array4_of(from, "value"));
  op.key_mask = mask_of(from, "keyMask");
  op.out = array4_of(from, "out");
  rfa::causal_feature_attention(op);
}

}  // namespace

void export_features(Env env, Object exports) {
  export_procedure<feature_map>(env, exports, "featureMap");
  export_procedure<linear_attention>(env, exports, "linearAttention");
  export_procedure<causal_feature_attention>(env, exports, "causalFeatureAttention");
}

}  // namespace rfa::bindings
