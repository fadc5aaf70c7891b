// Decoders: objects with one method, which takes a token.
#include "bindings/arguments.h"
#include "bindings/exports.h"

namespace rfa::bindings {

namespace {

// One decoder: everything but the token is unpacked once. The state arrays, which the constructor's
// argument holds, are kept alive by a reference to that argument.
// A step costs microseconds, in which reading two dozen properties each time would show: hence an
// object with the struct filled in, and positional arguments.
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
  // [B, H, 1, width], dense: whoever calls has compared the shape
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
  // frees nothing itself: state arrays live as long as this object or their tensors do
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
    op_.log_scale = array3_of(from, "logScale");
  }

 private:
  // step(query, key, value, out, gate, keyLogWeight)
  void step(const CallbackInfo& info) {
    // the rest of op_ holds from the constructor on
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

}  // namespace

void export_decoders(Env env, Object exports) {
  exports.Set("LinearDecoder", LinearDecoder::define(env));
  exports.Set("LogFeatureDecoder", LogFeatureDecoder::define(env));
  exports.Set("CacheDecoder", CacheDecoder::define(env));
}

}  // namespace rfa::bindings
