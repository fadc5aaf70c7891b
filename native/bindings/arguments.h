// Reading arguments of JavaScript, and exporting functions that do. TypeScript validates shapes and types
// (src/backends/native/); what is here trusts it.
//
// An array argument is {data: Float32Array, batchStride, headStride, rowStride}, strides in floats,
// or undefined where the struct in rfa.h says "optional". Other fields have the names of rfa.h in
// camelCase. Enumerations travel as the numbers that `codes` names.
#pragma once

#include <napi.h>

#include "rfa.h"

namespace rfa::bindings {

using Napi::CallbackInfo;
using Napi::Env;
using Napi::Object;
using Napi::Value;

// ---- reading ---------------------------------------------------------------------------------

// Arrays stay JavaScript's: pointers are good for one call, while the caller's tensors hold the
// memory and its thread waits. Only decoders keep some longer (see decode.cc).

inline Size size_of(const Value& value) { return value.As<Napi::Number>().Int64Value(); }
// sizes are integers below 2^53: exact as JavaScript numbers
inline Size size_of(const Object& from, const char* name) { return size_of(from.Get(name)); }
inline bool flag_of(const Object& from, const char* name) {
  return from.Get(name).As<Napi::Boolean>().Value();
}
inline float number_of(const Object& from, const char* name) {
  return from.Get(name).As<Napi::Number>().FloatValue();
}
template <class Enum>
Enum code_of(const Value& value) {
  return static_cast<Enum>(value.As<Napi::Number>().Int32Value());
}
// an absent array is a null pointer, which rfa.h reads as "none"
inline float* data_of(const Value& value) {
  return value.IsUndefined() ? nullptr : value.As<Napi::Float32Array>().Data();
}
inline double* doubles_of(const Object& from, const char* name) {
  const Value value = from.Get(name);
  return value.IsUndefined() ? nullptr : value.As<Napi::Float64Array>().Data();
}

inline rfa::MutableArray4 array4_of(const Object& from, const char* name) {
  const Value value = from.Get(name);
  if (value.IsUndefined()) return {};
  const Object array = value.As<Object>();
  return {data_of(array.Get("data")), size_of(array, "batchStride"), size_of(array, "headStride"),
          size_of(array, "rowStride")};
}
inline rfa::MutableArray3 array3_of(const Object& from, const char* name) {
  const Value value = from.Get(name);
  if (value.IsUndefined()) return {};
  const Object array = value.As<Object>();
  return {data_of(array.Get("data")), size_of(array, "batchStride"), size_of(array, "headStride")};
}
inline rfa::Array4 input(const rfa::MutableArray4& a) {
  return {a.data, a.batch_stride, a.head_stride, a.row_stride};
}
inline rfa::Array3 input(const rfa::MutableArray3& a) { return {a.data, a.batch_stride, a.head_stride}; }

inline const std::uint8_t* mask_of(const Object& from, const char* name) {
  const Value value = from.Get(name);
  return value.IsUndefined() ? nullptr : value.As<Napi::Uint8Array>().Data();
}

inline rfa::Features features_of(const Object& from, const char* name) {
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

// ---- exporting -------------------------------------------------------------------------------

// The function as a template argument: Node-API gets a plain pointer, and no closure is allocated.
// What C++ throws (std::bad_alloc) arrives as a JavaScript error.
template <void (*function)(const CallbackInfo&)>
void export_procedure(Env env, Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<function>(env, name));
}
template <Value (*function)(const CallbackInfo&)>
void export_function(Env env, Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<function>(env, name));
}

}  // namespace rfa::bindings
