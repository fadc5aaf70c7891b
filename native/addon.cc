// The Node addon: unpacks arguments, calls the kernels, done. The TypeScript half
// (src/backends/native/) validates shapes and types; this file trusts them.
//
// An array argument is {data: Float32Array, batchStride, headStride, rowStride}, strides in floats,
// or undefined where the struct in rfa.h says "optional". Other fields have the names of rfa.h in
// camelCase. Enumerations travel as the numbers that `codes` names.
#include <napi.h>

#include "memory.h"
#include "rfa.h"

namespace {

using Napi::CallbackInfo;
using Napi::Env;
using Napi::Object;
using Napi::Value;
using rfa::Size;

// ---- reading fields --------------------------------------------------------------------------

Size size_of(const Value& value) { return value.As<Napi::Number>().Int64Value(); }
Size size_of(const Object& from, const char* name) { return size_of(from.Get(name)); }
bool flag_of(const Object& from, const char* name) {
  return from.Get(name).As<Napi::Boolean>().Value();
}
float number_of(const Object& from, const char* name) {
  return from.Get(name).As<Napi::Number>().FloatValue();
}
template <class Enum>
Enum code_of(const Value& value) {
  return static_cast<Enum>(value.As<Napi::Number>().Int32Value());
}
float* data_of(const Value& value) {
  return value.IsUndefined() ? nullptr : value.As<Napi::Float32Array>().Data();
}

rfa::MutableArray4 array4_of(const Object& from, const char* name) {
  const Value value = from.Get(name);
  if (value.IsUndefined()) return {};
  const Object array = value.As<Object>();
  return {data_of(array.Get("data")), size_of(array, "batchStride"), size_of(array, "headStride"),
          size_of(array, "rowStride")};
}
rfa::MutableArray3 array3_of(const Object& from, const char* name) {
  const Value value = from.Get(name);
  if (value.IsUndefined()) return {};
  const Object array = value.As<Object>();
  return {data_of(array.Get("data")), size_of(array, "batchStride"), size_of(array, "headStride")};
}
rfa::Array4 input(const rfa::MutableArray4& a) {
  return {a.data, a.batch_stride, a.head_stride, a.row_stride};
}
rfa::Array3 input(const rfa::MutableArray3& a) { return {a.data, a.batch_stride, a.head_stride}; }

const std::uint8_t* mask_of(const Object& from, const char* name) {
  const Value value = from.Get(name);
  return value.IsUndefined() ? nullptr : value.As<Napi::Uint8Array>().Data();
}

rfa::Features features_of(const Object& from, const char* name) {
  const Object given = from.Get(name).As<Object>();
  rfa::Features features;
  features.kind = code_of<rfa::FeatureKind>(given.Get("kind"));
  features.x = input(array4_of(given, "x"));
  features.projection = input(array4_of(given, "projection"));
  features.num_features = size_of(given, "numFeatures");
  features.input_scale = number_of(given, "inputScale");
  features.feature_scale = number_of(given, "featureScale");
  features.unit_norm = flag_of(given, "unitNorm");
  features.norm_epsilon = number_of(given, "normEpsilon");
  return features;
}

// Sizes that every attention over whole sequences has.
template <class Op>
void read_sizes(Op& op, const Object& from) {
  op.batch = size_of(from, "batch");
  op.heads = size_of(from, "heads");
  op.query_len = size_of(from, "queryLen");
  op.key_len = size_of(from, "keyLen");
  op.head_dim = size_of(from, "headDim");
  op.value_dim = size_of(from, "valueDim");
}

// ---- attention -------------------------------------------------------------------------------

void softmax_attention(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
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
  rfa::softmax_attention(op);
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

// ---- decoding --------------------------------------------------------------------------------

// One decoder: everything but the token is unpacked once. The state arrays, which the constructor's
// argument holds, are kept alive by a reference to that argument.
template <class Self, class Op>
class DecodeStep : public Napi::ObjectWrap<Self> {
 public:
  explicit DecodeStep(const CallbackInfo& info)
      : Napi::ObjectWrap<Self>(info), spec_(Napi::Persistent(info[0].As<Object>())) {
    const Object from = info[0].As<Object>();
    op_.batch = size_of(from, "batch");
    op_.heads = size_of(from, "heads");
    op_.head_dim = size_of(from, "headDim");
    op_.value_dim = size_of(from, "valueDim");
  }

 protected:
  rfa::Array4 token(const Value& value, Size width) const {
    return rfa::dense4<const float>(data_of(value), op_.heads, 1, width);
  }
  rfa::Array3 scalar(const Value& value) const {
    return rfa::dense3<const float>(data_of(value), op_.heads, 1);
  }
  rfa::MutableArray4 output(const Value& value) const {
    return rfa::dense4(data_of(value), op_.heads, Size{1}, op_.value_dim);
  }

  Op op_;

 private:
  Napi::ObjectReference spec_;
};

class LinearDecoder : public DecodeStep<LinearDecoder, rfa::LinearDecode> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "LinearDecoder", {InstanceMethod("step", &LinearDecoder::step)});
  }
  explicit LinearDecoder(const CallbackInfo& info) : DecodeStep(info) {
    const Object from = info[0].As<Object>();
    op_.query = features_of(from, "query");
    op_.key = features_of(from, "key");
    op_.normalizer_epsilon = number_of(from, "normalizerEpsilon");
    op_.guard = code_of<rfa::Guard>(from.Get("guard"));
    op_.guard_bound = number_of(from, "guardBound");
    op_.state = array4_of(from, "state");
    op_.normalizer = array3_of(from, "normalizer");
    op_.normalizer_stride = size_of(from, "normalizerStride");
    op_.log_scale = array3_of(from, "logScale");
  }

 private:
  // step(query, key, value, out, gate, keyLogWeight)
  void step(const CallbackInfo& info) {
    op_.query.x = token(info[0], op_.head_dim);
    op_.key.x = token(info[1], op_.head_dim);
    op_.value = token(info[2], op_.value_dim);
    op_.out = output(info[3]);
    op_.gate = scalar(info[4]);
    op_.key_log_weight = scalar(info[5]);
    rfa::linear_decode(op_);
  }
};

class LogFeatureDecoder : public DecodeStep<LogFeatureDecoder, rfa::LogFeatureDecode> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "LogFeatureDecoder",
                       {InstanceMethod("step", &LogFeatureDecoder::step)});
  }
  explicit LogFeatureDecoder(const CallbackInfo& info) : DecodeStep(info) {
    const Object from = info[0].As<Object>();
    op_.query = features_of(from, "query");
    op_.key = features_of(from, "key");
    op_.state = array4_of(from, "state");
    op_.normalizer = array3_of(from, "normalizer");
    op_.normalizer_stride = size_of(from, "normalizerStride");
    op_.top = array3_of(from, "top");
  }

 private:
  // step(query, key, value, out)
  void step(const CallbackInfo& info) {
    op_.query.x = token(info[0], op_.head_dim);
    op_.key.x = token(info[1], op_.head_dim);
    op_.value = token(info[2], op_.value_dim);
    op_.out = output(info[3]);
    rfa::log_feature_decode(op_);
  }
};

class CacheDecoder : public DecodeStep<CacheDecoder, rfa::CacheDecode> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "CacheDecoder", {InstanceMethod("step", &CacheDecoder::step)});
  }
  explicit CacheDecoder(const CallbackInfo& info) : DecodeStep(info) {
    const Object from = info[0].As<Object>();
    op_.scale = number_of(from, "scale");
    op_.key_cache = array4_of(from, "keyCache");
    op_.value_cache = array4_of(from, "valueCache");
  }

 private:
  // step(query, key, value, out, length)
  void step(const CallbackInfo& info) {
    op_.query = token(info[0], op_.head_dim);
    op_.key = token(info[1], op_.head_dim);
    op_.value = token(info[2], op_.value_dim);
    op_.out = output(info[3]);
    op_.length = size_of(info[4]);
    rfa::cache_decode(op_);
  }
};

// ---- plain tensor operations -----------------------------------------------------------------

void mat_mul(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::MatMul op;
  op.batch = size_of(from, "batch");
  op.rows = size_of(from, "rows");
  op.columns = size_of(from, "columns");
  op.inner = size_of(from, "inner");
  op.a = data_of(from.Get("a"));
  op.b = data_of(from.Get("b"));
  op.a_batch_stride = size_of(from, "aBatchStride");
  op.a_row_stride = size_of(from, "aRowStride");
  op.b_batch_stride = size_of(from, "bBatchStride");
  op.b_row_stride = size_of(from, "bRowStride");
  op.transpose_a = flag_of(from, "transposeA");
  op.transpose_b = flag_of(from, "transposeB");
  op.bias = data_of(from.Get("bias"));
  op.activation = code_of<rfa::Activation>(from.Get("activation"));
  op.out = data_of(from.Get("out"));
  op.out_batch_stride = op.rows * op.columns;
  op.out_row_stride = op.columns;
  rfa::mat_mul(op);
}

// unary(code, in, out)
void unary(const CallbackInfo& info) {
  auto out = info[2].As<Napi::Float32Array>();
  rfa::unary(code_of<rfa::Unary>(info[0]), data_of(info[1]), out.Data(),
             static_cast<Size>(out.ElementLength()));
}

// binary(code, a, b, out, layout): layout is a Float64Array of shape, strides of a, strides of b
void binary(const CallbackInfo& info) {
  const auto layout = info[4].As<Napi::Float64Array>();
  rfa::BinaryOp op;
  op.op = code_of<rfa::Binary>(info[0]);
  op.a = data_of(info[1]);
  op.b = data_of(info[2]);
  op.out = data_of(info[3]);
  op.rank = static_cast<int>(layout.ElementLength() / 3);
  const double* numbers = layout.Data();
  for (int axis = 0; axis < op.rank; axis++) {
    op.shape[axis] = static_cast<Size>(numbers[axis]);
    op.a_strides[axis] = static_cast<Size>(numbers[op.rank + axis]);
    op.b_strides[axis] = static_cast<Size>(numbers[2 * op.rank + axis]);
  }
  rfa::binary(op);
}

// reduceRows(code, in, out, rows, columns)
void reduce_rows(const CallbackInfo& info) {
  rfa::reduce_rows(code_of<rfa::Reduction>(info[0]), data_of(info[1]), data_of(info[2]),
                   size_of(info[3]), size_of(info[4]));
}

// softmaxRows(in, out, rows, columns, {causalRows, present, sharedRows} or nothing)
void softmax_rows(const CallbackInfo& info) {
  rfa::RowVisibility seen;
  if (info[4].IsObject()) {
    const Object from = info[4].As<Object>();
    seen.causal_rows = size_of(from, "causalRows");
    seen.present = data_of(from.Get("present"));
    seen.shared_rows = size_of(from, "sharedRows");
  }
  rfa::softmax_rows(data_of(info[0]), data_of(info[1]), size_of(info[2]), size_of(info[3]), seen);
}

// transpose(in, out, layout): layout is a Float64Array of shape and permutation
void transpose(const CallbackInfo& info) {
  const auto layout = info[2].As<Napi::Float64Array>();
  rfa::Transpose op;
  op.in = data_of(info[0]);
  op.out = data_of(info[1]);
  op.rank = static_cast<int>(layout.ElementLength() / 2);
  for (int axis = 0; axis < op.rank; axis++) {
    op.shape[axis] = static_cast<Size>(layout[axis]);
    op.perm[axis] = static_cast<int>(layout[op.rank + axis]);
  }
  rfa::transpose(op);
}

// ---- instruction set, threads, speed ---------------------------------------------------------

Value runtime(const CallbackInfo& info) {
  const rfa::Runtime facts = rfa::runtime();
  Object out = Object::New(info.Env());
  out.Set("isa", facts.isa);
  out.Set("available", facts.available);
  out.Set("lanes", facts.lanes);
  out.Set("forced", facts.forced);
  out.Set("error", facts.error);
  out.Set("compiler", facts.compiler);
  out.Set("build", facts.build);
  return out;
}

Value select_isa(const CallbackInfo& info) {
  return Napi::String::New(info.Env(), rfa::select_isa(info[0].As<Napi::String>().Utf8Value()));
}

void set_threads(const CallbackInfo& info) {
  rfa::set_threads(info[0].As<Napi::Number>().Int32Value());
}
Value threads(const CallbackInfo& info) { return Napi::Number::New(info.Env(), rfa::threads()); }

Value fma_peak(const CallbackInfo& info) {
  return Napi::Number::New(info.Env(), rfa::fma_peak(info[0].As<Napi::Number>().DoubleValue()));
}

void advise_large_pages(const CallbackInfo& info) {
  rfa::advise_large_pages(data_of(info[0]), info[0].As<Napi::TypedArray>().ByteLength());
}

// Bytes between the start of a cache line and that of an array's memory.
Value line_offset(const CallbackInfo& info) {
  constexpr std::uintptr_t kLine = 64;
  const auto address = reinterpret_cast<std::uintptr_t>(data_of(info[0]));
  return Napi::Number::New(info.Env(), static_cast<double>(address % kLine));
}

Value workspace_bytes(const CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(rfa::workspace_bytes()));
}
void release_workspace(const CallbackInfo&) { rfa::release_workspace(); }

// ---- the module ------------------------------------------------------------------------------

template <class Enum>
Object names(Env env, std::initializer_list<std::pair<const char*, Enum>> entries) {
  Object out = Object::New(env);
  for (const auto& [name, code] : entries) out.Set(name, static_cast<int>(code));
  return out;
}

// The numbers of every enumeration, by the names that TypeScript uses.
Object codes(Env env) {
  using rfa::Activation;
  using rfa::Binary;
  using rfa::FeatureKind;
  using rfa::Guard;
  using rfa::Reduction;
  using rfa::Unary;
  Object out = Object::New(env);
  out.Set("feature", names<FeatureKind>(env, {{"explicit", FeatureKind::kExplicit},
                                              {"elu-plus-one", FeatureKind::kEluPlusOne},
                                              {"trigonometric", FeatureKind::kTrigonometric},
                                              {"relu", FeatureKind::kRelu},
                                              {"log-positive", FeatureKind::kLogPositive},
                                              {"log-hyperbolic", FeatureKind::kLogHyperbolic}}));
  out.Set("guard", names<Guard>(env, {{"none", Guard::kNone},
                                      {"add", Guard::kAdd},
                                      {"clamp", Guard::kClamp},
                                      {"abs-clamp", Guard::kAbsClamp},
                                      {"nudge", Guard::kNudge}}));
  out.Set("activation", names<Activation>(env, {{"linear", Activation::kNone},
                                                {"relu", Activation::kRelu},
                                                {"relu6", Activation::kRelu6},
                                                {"elu", Activation::kElu}}));
  out.Set("unary", names<Unary>(env, {{"Exp", Unary::kExp},
                                      {"Log", Unary::kLog},
                                      {"Sin", Unary::kSin},
                                      {"Cos", Unary::kCos},
                                      {"Relu", Unary::kRelu},
                                      {"Elu", Unary::kElu},
                                      {"Square", Unary::kSquare},
                                      {"Neg", Unary::kNegate},
                                      {"Abs", Unary::kAbs},
                                      {"Sqrt", Unary::kSqrt}}));
  out.Set("binary", names<Binary>(env, {{"Add", Binary::kAdd},
                                        {"Sub", Binary::kSubtract},
                                        {"Multiply", Binary::kMultiply},
                                        {"RealDiv", Binary::kDivide},
                                        {"Maximum", Binary::kMaximum},
                                        {"Minimum", Binary::kMinimum}}));
  out.Set("reduction", names<Reduction>(env, {{"Sum", Reduction::kSum},
                                              {"Max", Reduction::kMax},
                                              {"LogSumExp", Reduction::kLogSumExp}}));
  return out;
}

template <void (*function)(const CallbackInfo&)>
void export_procedure(Env env, Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<function>(env, name));
}
template <Value (*function)(const CallbackInfo&)>
void export_function(Env env, Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<function>(env, name));
}

Object init(Env env, Object exports) {
  rfa::keep_freed_memory();
  exports.Set("codes", codes(env));
  exports.Set("maxRank", rfa::kMaxRank);
  export_procedure<softmax_attention>(env, exports, "softmaxAttention");
  export_procedure<sample_keys>(env, exports, "sampleKeys");
  export_procedure<segment_means>(env, exports, "segmentMeans");
  export_procedure<optimal_mixture>(env, exports, "optimalMixture");
  export_procedure<feature_map>(env, exports, "featureMap");
  export_procedure<linear_attention>(env, exports, "linearAttention");
  export_procedure<causal_feature_attention>(env, exports, "causalFeatureAttention");
  exports.Set("LinearDecoder", LinearDecoder::define(env));
  exports.Set("LogFeatureDecoder", LogFeatureDecoder::define(env));
  exports.Set("CacheDecoder", CacheDecoder::define(env));
  export_procedure<mat_mul>(env, exports, "matMul");
  export_procedure<unary>(env, exports, "unary");
  export_procedure<binary>(env, exports, "binary");
  export_procedure<reduce_rows>(env, exports, "reduceRows");
  export_procedure<softmax_rows>(env, exports, "softmaxRows");
  export_procedure<transpose>(env, exports, "transpose");
  export_function<runtime>(env, exports, "runtime");
  export_function<select_isa>(env, exports, "selectIsa");
  export_procedure<set_threads>(env, exports, "setThreads");
  export_function<threads>(env, exports, "threads");
  export_function<fma_peak>(env, exports, "fmaPeak");
  export_procedure<advise_large_pages>(env, exports, "adviseLargePages");
  export_function<line_offset>(env, exports, "lineOffset");
  export_function<workspace_bytes>(env, exports, "workspaceBytes");
  export_procedure<release_workspace>(env, exports, "releaseWorkspace");
  return exports;
}

NODE_API_MODULE(rfa, init)

}  // namespace
