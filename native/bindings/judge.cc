// What estimates are judged by, in double precision.
#include "bindings/arguments.h"
#include "bindings/exports.h"

namespace rfa::bindings {

namespace {

void error_sums(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::ErrorSums op;
  op.heads = size_of(from, "heads");
  op.rows = size_of(from, "rows");
  op.value_dim = size_of(from, "valueDim");
  op.estimate = data_of(from.Get("estimate"));
  op.exact = doubles_of(from, "exact");
  op.mean = data_of(from.Get("mean"));
  op.share = from.Get("share").As<Napi::Number>().DoubleValue();
  op.group = data_of(from.Get("group"));
  op.group_step = size_of(from, "groupStep");
  op.out = doubles_of(from, "out");
  op.rows_sum = doubles_of(from, "rowsSum");
  rfa::error_sums(op);
}

void pair_products(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::PairProducts op;
  op.count = size_of(from, "count");
  op.length = size_of(from, "length");
  op.vectors = data_of(from.Get("vectors"));
  op.out = doubles_of(from, "out");
  rfa::pair_products(op);
}

void next_tokens(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::NextTokens op;
  op.places = size_of(from, "places");
  op.vocabulary = size_of(from, "vocabulary");
  op.original = data_of(from.Get("original"));
  op.exchanged = data_of(from.Get("exchanged"));
  op.next = from.Get("next").As<Napi::Int32Array>().Data();
  op.out = doubles_of(from, "out");
  rfa::next_tokens(op);
}

void exact_softmax(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::ExactSoftmax op;
  op.query_len = size_of(from, "queryLen");
  op.key_len = size_of(from, "keyLen");
  op.head_dim = size_of(from, "headDim");
  op.value_dim = size_of(from, "valueDim");
  const Value scale = from.Get("scale");
  if (scale.IsNumber()) {
    op.query_floats = data_of(from.Get("query"));
    op.key_floats = data_of(from.Get("key"));
    op.scale = scale.As<Napi::Number>().DoubleValue();
  } else {
    op.query = doubles_of(from, "query");
    op.key = doubles_of(from, "key");
  }
  op.key_bias = doubles_of(from, "keyBias");
  op.key_length = doubles_of(from, "keyLength");
  op.value = data_of(from.Get("value"));
  op.log_constant = doubles_of(from, "logConstant");
  op.causal = flag_of(from, "causal");
  op.excludes_self = flag_of(from, "excludesSelf");
  op.out = doubles_of(from, "out");
  op.lse = doubles_of(from, "lse");
  op.entropy = doubles_of(from, "entropy");
  rfa::exact_softmax(op);
}

}  // namespace

void export_judge(Env env, Object exports) {
  export_procedure<error_sums>(env, exports, "errorSums");
  export_procedure<pair_products>(env, exports, "pairProducts");
  export_procedure<next_tokens>(env, exports, "nextTokens");
  export_procedure<exact_softmax>(env, exports, "exactSoftmax");
}

}  // namespace rfa::bindings
