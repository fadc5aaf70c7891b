// Plain tensor operations.
#include "bindings/arguments.h"
#include "bindings/exports.h"

namespace rfa::bindings {

namespace {

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
  // the output is always new and dense
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
// One typed array instead of three lists of numbers: read as memory, not property by property.
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

// normRows({rows, columns, input, weight, bias, epsilon, centred, out})
void norm_rows(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::NormRows op;
  op.rows = size_of(from, "rows");
  op.columns = size_of(from, "columns");
  op.in = data_of(from.Get("input"));
  op.weight = data_of(from.Get("weight"));
  op.bias = data_of(from.Get("bias"));
  op.epsilon = number_of(from, "epsilon");
  op.centred = flag_of(from, "centred");
  op.out = data_of(from.Get("out"));
  rfa::norm_rows(op);
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

}  // namespace

void export_tensor(Env env, Object exports) {
  export_procedure<mat_mul>(env, exports, "matMul");
  export_procedure<unary>(env, exports, "unary");
  export_procedure<binary>(env, exports, "binary");
  export_procedure<reduce_rows>(env, exports, "reduceRows");
  export_procedure<softmax_rows>(env, exports, "softmaxRows");
  export_procedure<norm_rows>(env, exports, "normRows");
  export_procedure<transpose>(env, exports, "transpose");
}

}  // namespace rfa::bindings
