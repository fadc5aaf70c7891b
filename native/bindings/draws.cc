// Random draws.
#include <algorithm>

#include "bindings/arguments.h"
#include "bindings/exports.h"
#include "random.h"

namespace rfa::bindings {

namespace {

// A stream as six words: its key, then the counter of its next block.
rfa::RandomStream stream_of(const Value& value) {
  const auto words = value.As<Napi::Uint32Array>();
  rfa::RandomStream stream;
  std::copy_n(words.Data(), 2, stream.key);
  std::copy_n(words.Data() + 2, 4, stream.counter);
  return stream;
}

// normals(stream, out): out is a Float32Array or a Float64Array; returns the normal after an odd number
Value normals(const CallbackInfo& info) {
  const rfa::RandomStream stream = stream_of(info[0]);
  const auto out = info[1].As<Napi::TypedArray>();
  const auto count = static_cast<Size>(out.ElementLength());
  const double spare = out.TypedArrayType() == napi_float32_array
                           ? rfa::normals(stream, out.As<Napi::Float32Array>().Data(), count)
                           : rfa::normals(stream, out.As<Napi::Float64Array>().Data(), count);
  return Napi::Number::New(info.Env(), spare);
}

void copy_key(const Value& value, std::uint32_t* key) {
  std::copy_n(value.As<Napi::Uint32Array>().Data(), 2, key);
}
// JavaScript's numbers, modulo 2^32 as typed arrays take them
std::uint32_t word_of(const Object& from, const char* name) {
  return static_cast<std::uint32_t>(size_of(from, name));
}

// What both kinds of matrices have.
template <class Op>
void read_place(Op& op, const Object& from) {
  op.first = {word_of(from, "replicate"), word_of(from, "head"), word_of(from, "block")};
  op.replicates = size_of(from, "replicates");
  op.heads = size_of(from, "heads");
  const auto out = from.Get("out").As<Napi::TypedArray>();
  if (out.TypedArrayType() == napi_float32_array) {
    op.floats = out.As<Napi::Float32Array>().Data();
  } else {
    op.doubles = out.As<Napi::Float64Array>().Data();
  }
}

void normal_blocks(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::NormalBlocks op;
  copy_key(from.Get("key"), op.key);
  op.length = size_of(from, "length");
  op.block_length = size_of(from, "blockLength");
  read_place(op, from);
  rfa::normal_blocks(op);
}

void orthogonal_rows(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::OrthogonalRows op;
  copy_key(from.Get("directionKey"), op.direction_key);
  const Value length_key = from.Get("lengthKey");
  op.chi = !length_key.IsUndefined();
  if (op.chi) copy_key(length_key, op.length_key);
  op.num_features = size_of(from, "numFeatures");
  op.head_dim = size_of(from, "headDim");
  read_place(op, from);
  rfa::orthogonal_rows(op);
}

// orthonormalizeRows(matrix, columns): in place
void orthonormalize_rows(const CallbackInfo& info) {
  auto matrix = info[0].As<Napi::Float64Array>();
  rfa::Orthonormalize op;
  op.columns = size_of(info[1]);
  op.rows = static_cast<Size>(matrix.ElementLength()) / op.columns;
  op.matrix = matrix.Data();
  rfa::orthonormalize_rows(op);
}

}  // namespace

void export_draws(Env env, Object exports) {
  export_function<normals>(env, exports, "normals");
  export_procedure<normal_blocks>(env, exports, "normalBlocks");
  export_procedure<orthogonal_rows>(env, exports, "orthogonalRows");
  export_procedure<orthonormalize_rows>(env, exports, "orthonormalizeRows");
}

}  // namespace rfa::bindings
