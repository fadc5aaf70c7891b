"""ONNX Runtime on the CPU: its fused attention operators, one node per model, outputs bound to memory of their own."""

import contextlib

import numpy
import onnxruntime
from onnx import TensorProto, helper

from form import Form

PACKAGES = ["onnxruntime", "onnx"]
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT32
settings = onnxruntime.SessionOptions()


def started(threads):
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.add_session_config_entry("session.set_denormal_as_zero", "1")
    return contextlib.nullcontext()


def to_numpy(out):
    return [x.numpy() for x in out] if isinstance(out, list) else out.numpy()


def session_of(operator, domain, inputs, outputs, **attributes):
    """A model of one node. `inputs`, `outputs`: names with (type, shape)."""

    def values(given):
        return [helper.make_tensor_value_info(name, *what) for name, what in given.items()]

    node = helper.make_node(operator, list(inputs), list(outputs), domain=domain, **attributes)
    graph = helper.make_graph([node], "attention", values(inputs), values(outputs))
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


def on_device(array):
    return onnxruntime.OrtValue.ortvalue_from_numpy(numpy.ascontiguousarray(array))


def empty(*shape):
    return on_device(numpy.zeros(shape, numpy.float32))


def bound(session, inputs, outputs):
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in outputs.items():
        binding.bind_ortvalue_output(name, value)
    return binding


def joined(array):
    """[1, H, L, D] to [1, L, H * D]."""
    return array.transpose(0, 2, 1, 3).reshape(1, array.shape[2], -1)


def split(heads):
    return lambda out: out.reshape(1, out.shape[1], heads, -1).transpose(0, 2, 1, 3)


def whole(operator, domain, case, inputs, **attributes):
    q, k, v, _ = inputs.values()
    heads, length, dim = case["heads"], case["length"], case["headDim"]
    shape = (1, length, heads * dim)
    names = ("q", "k", "v")
    session = session_of(
        operator, domain, {name: (FLOAT, shape) for name in names}, {"out": (FLOAT, shape)}, **attributes
    )
    out = empty(*shape)
    given = {name: on_device(joined(x)) for name, x in zip(names, (q, k, v))}
    binding = bound(session, given, {"out": out})

    def run():
        session.run_with_iobinding(binding)
        return out

    return Form(run, arranged=split(heads))


def multi_head(case, inputs):
    causal = int(case["causal"])
    return whole(
        "MultiHeadAttention", "com.microsoft", case, inputs,
        num_heads=case["heads"], scale=case["headDim"] ** -0.5, unidirectional=causal,
    )


def standard(case, inputs):
    heads = case["heads"]
    return whole(
        "Attention", "", case, inputs,
        q_num_heads=heads, kv_num_heads=heads, is_causal=int(case["causal"]),
    )


def grouped(case, inputs):
    """The operator of language models: causal over a cache that it extends in place."""
    tokens = case["tokens"] if case["kind"] == "decode" else case["length"]
    position = case["position"] if case["kind"] == "decode" else 0
    q, k, v, _ = inputs.values()
    heads, dim, room = case["heads"], case["headDim"], position + tokens
    count = 1 if case["kind"] == "decode" else tokens
    row, cache = (FLOAT, (1, count, heads * dim)), (FLOAT, (1, heads, room, dim))
    session = session_of(
        "GroupQueryAttention", "com.microsoft",
        {"q": row, "k": row, "v": row, "past_k": cache, "past_v": cache, "last": (INT, (1,)), "total": (INT, ())},
        {"out": row, "present_k": cache, "present_v": cache},
        num_heads=heads, kv_num_heads=heads, scale=dim**-0.5,
    )
    keys, values = numpy.zeros((2, 1, heads, room, dim), numpy.float32)
    keys[:, :, :position], values[:, :, :position] = k[:, :, :position], v[:, :, :position]
    keys, values = on_device(keys), on_device(values)

    def call(start):
        given = {name: on_device(joined(x[:, :, start : start + count])) for name, x in zip("qkv", (q, k, v))}
        seen = start + count
        given |= {"past_k": keys, "past_v": values}
        given |= {"last": on_device(numpy.array([seen - 1], numpy.int32)), "total": on_device(numpy.array(seen, numpy.int32))}
        out = empty(1, count, heads * dim)
        return bound(session, given, {"out": out, "present_k": keys, "present_v": values}), out

    calls = [call(start) for start in range(position, room, count)]

    def run():
        for binding, _ in calls:
            session.run_with_iobinding(binding)
        return [out for _, out in calls]

    return Form(run, arranged=lambda outs: split(heads)(numpy.concatenate(outs, 1)))


def forms(case):
    if case["method"] != "softmax":
        return {}
    if case["kind"] == "decode":
        return {"GroupQueryAttention": grouped}
    found = {"MultiHeadAttention": multi_head, "Attention-23": standard}
    return {**found, "GroupQueryAttention": grouped} if case["causal"] else found
