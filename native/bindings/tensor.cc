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
  const auto out = info[3].As<Napi::TypedArray>();
  if (out.TypedArrayType() == napi_uint8_array) {
    op.truth = info[3].As<Napi::Uint8Array>().Data();
  } else {
    op.out = data_of(info[3]);
  }
  op.rank = static_cast<int>(layout.ElementLength() / 3);
  const double* numbers = layout.Data();
  for (int axis = 0; axis < op.rank; axis++) {
    op.shape[axis] = static_cast<Size>(numbers[axis]);
    op.a_strides[axis] = static_cast<Size>(numbers[op.rank + axis]);
    op.b_strides[axis] = static_cast<Size>(numbers[2 * op.rank + axis]);
  }
  rfa::binary(op);
}

// select(condition, yes, no, out)
void select(const CallbackInfo& info) {
  const auto condition = info[0].As<Napi::Uint8Array>();
  rfa::select(condition.Data(), data_of(info[1]), data_of(info[2]), data_of(info[3]),
              static_cast<Size>(condition.ElementLength()));
}

// reduce(code, in, out, outer, length, inner)
void reduce(const CallbackInfo& info) {
  rfa::reduce(code_of<rfa::Reduction>(info[0]), data_of(info[1]), data_of(info[2]), size_of(info[3]),
              size_of(info[4]), size_of(info[5]));
}

// cumulativeSums(in, out, outer, length, inner, exclusive, reverse)
void cumulative_sums(const CallbackInfo& info) {
  rfa::CumulativeSums op;
  op.in = data_of(info[0]);
  op.out = data_of(info[1]);
  op.outer = size_of(info[2]);
  op.length = size_of(info[3]);
  op.inner = size_of(info[4]);
  op.exclusive = info[5].As<Napi::Boolean>().Value();
  op.reverse = info[6].As<Napi::Boolean>().Value();
  rfa::cumulative_sums(op);
}

// runningLogSums(in, out, outer, length, inner)
void running_log_sums(const CallbackInfo& info) {
  rfa::RunningLogSums op;
  op.in = data_of(info[0]);
  op.out = data_of(info[1]);
  op.outer = size_of(info[2]);
  op.length = size_of(info[3]);
  op.inner = size_of(info[4]);
  rfa::running_log_sums(op);
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

// crossEntropy(in, labels, out, columns)
void cross_entropy(const CallbackInfo& info) {
  const auto labels = info[1].As<Napi::Int32Array>();
  rfa::CrossEntropy op;
  op.rows = static_cast<Size>(labels.ElementLength());
  op.columns = size_of(info[3]);
  op.in = data_of(info[0]);
  op.labels = labels.Data();
  op.out = data_of(info[2]);
  rfa::cross_entropy(op);
}

// crossEntropyGradient(in, labels, out, columns, slope)
void cross_entropy_gradient(const CallbackInfo& info) {
  const auto labels = info[1].As<Napi::Int32Array>();
  rfa::CrossEntropyGradient op;
  op.rows = static_cast<Size>(labels.ElementLength());
  op.columns = size_of(info[3]);
  op.in = data_of(info[0]);
  op.labels = labels.Data();
  op.out = data_of(info[2]);
  op.slope = info[4].As<Napi::Number>().FloatValue();
  rfa::cross_entropy_gradient(op);
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

// stridedCopy(in, inOffset, out, outOffset, layout, rank): layout holds length, stride in `in` and stride in `out` of each
// axis. Both arrays are of one type, of which only the size of an element counts.
void strided_copy(const CallbackInfo& info) {
  const auto out = info[2].As<Napi::Uint8Array>();
  const auto layout = info[4].As<Napi::Float64Array>();
  rfa::StridedCopy op;
  op.element = out.TypedArrayType() == napi_uint8_array ? 1 : 4;
  op.in = info[0].As<Napi::Uint8Array>().Data() + op.element * size_of(info[1]);
  op.out = info[2].As<Napi::Uint8Array>().Data() + op.element * size_of(info[3]);
  op.rank = static_cast<int>(size_of(info[5]));
  const double* numbers = layout.Data();
  for (int axis = 0; axis < op.rank; axis++) {
    op.shape[axis] = static_cast<Size>(numbers[3 * axis]);
    op.in_strides[axis] = static_cast<Size>(numbers[3 * axis + 1]);
    op.out_strides[axis] = static_cast<Size>(numbers[3 * axis + 2]);
  }
  rfa::strided_copy(op);
}

// gatherRows(in, index, out, batch, outer, length, columns)
void gather_rows(const CallbackInfo& info) {
  const auto index = info[1].As<Napi::Int32Array>();
  rfa::GatherRows op;
  op.in = data_of(info[0]);
  op.index = index.Data();
  op.out = data_of(info[2]);
  op.batch = size_of(info[3]);
  op.outer = size_of(info[4]);
  op.length = size_of(info[5]);
  op.columns = size_of(info[6]);
  op.count = static_cast<Size>(index.ElementLength()) / op.batch;
  rfa::gather_rows(op);
}

// segmentSums(in, index, out, columns)
void segment_sums(const CallbackInfo& info) {
  const auto index = info[1].As<Napi::Int32Array>();
  const auto out = info[2].As<Napi::Float32Array>();
  rfa::SegmentSums op;
  op.in = data_of(info[0]);
  op.index = index.Data();
  op.out = data_of(info[2]);
  op.rows = static_cast<Size>(index.ElementLength());
  op.columns = size_of(info[3]);
  op.segments = op.columns == 0 ? 0 : static_cast<Size>(out.ElementLength()) / op.columns;
  rfa::segment_sums(op);
}

// normRowsGradient({rows, columns, input, weight, slopes, epsilon, centred, toInput, toWeight, toBias})
void norm_rows_gradient(const CallbackInfo& info) {
  const Object from = info[0].As<Object>();
  rfa::NormRowsGradient op;
  op.rows = size_of(from, "rows");
  op.columns = size_of(from, "columns");
  op.in = data_of(from.Get("input"));
  op.weight = data_of(from.Get("weight"));
  op.slopes = data_of(from.Get("slopes"));
  op.epsilon = number_of(from, "epsilon");
  op.centred = flag_of(from, "centred");
  op.to_in = data_of(from.Get("toInput"));
  op.to_weight = data_of(from.Get("toWeight"));
  op.to_bias = data_of(from.Get("toBias"));
  rfa::norm_rows_gradient(op);
}

// adamStep(value, gradient, first, second, toValue, toFirst, toSecond, factors): factors is a Float64Array of both decays,
// both shares, rate, scale and epsilon
void adam_step(const CallbackInfo& info) {
  const auto value = info[0].As<Napi::Float32Array>();
  const double* factors = info[7].As<Napi::Float64Array>().Data();
  rfa::AdamStep op;
  op.count = static_cast<Size>(value.ElementLength());
  op.value = data_of(info[0]);
  op.gradient = data_of(info[1]);
  op.first = data_of(info[2]);
  op.second = data_of(info[3]);
  op.to_value = data_of(info[4]);
  op.to_first = data_of(info[5]);
  op.to_second = data_of(info[6]);
  float* const fields[] = {&op.decay1, &op.decay2, &op.share1, &op.share2, &op.rate, &op.scale, &op.epsilon};
  for (int i = 0; i < 7; i++) *fields[i] = static_cast<float>(factors[i]);
  rfa::adam_step(op);
}

}  // namespace

void export_tensor(Env env, Object exports) {
  export_procedure<mat_mul>(env, exports, "matMul");
  export_procedure<unary>(env, exports, "unary");
  export_procedure<binary>(env, exports, "binary");
  export_procedure<adam_step>(env, exports, "adamStep");
  export_procedure<select>(env, exports, "select");
  export_procedure<reduce>(env, exports, "reduce");
  export_procedure<cumulative_sums>(env, exports, "cumulativeSums");
  export_procedure<running_log_sums>(env, exports, "runningLogSums");
  export_procedure<softmax_rows>(env, exports, "softmaxRows");
  export_procedure<cross_entropy>(env, exports, "crossEntropy");
  export_procedure<cross_entropy_gradient>(env, exports, "crossEntropyGradient");
  export_procedure<norm_rows>(env, exports, "normRows");
  export_procedure<norm_rows_gradient>(env, exports, "normRowsGradient");
  export_procedure<strided_copy>(env, exports, "stridedCopy");
  export_procedure<gather_rows>(env, exports, "gatherRows");
  export_procedure<segment_sums>(env, exports, "segmentSums");
}

}  // namespace rfa::bindings
