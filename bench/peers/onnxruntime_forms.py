"""ONNX Runtime on the CPU: its fused attention operators, one node per model, outputs bound to separate memory."""

import contextlib

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

from rfa_peers import Form, decoding

PACKAGES = {"onnxruntime": onnxruntime.__version__, "onnx": onnx.__version__}
INSTRUCTION_SET = None
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT32
settings = onnxruntime.SessionOptions()


def started(threads):
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.add_session_config_entry("session.set_denormal_as_zero", "1")
    return contextlib.nullcontext()


def array(floats, shape):
    return numpy.frombuffer(floats, numpy.float32).reshape(shape)


def bytes_of(out):
    out = numpy.concatenate(out, 2) if isinstance(out, list) else out
    if out.dtype != "float32":
        raise TypeError(f"expected a float32 output, got {out.dtype}")
    return out.tobytes()


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
    """[B, H, L, D] to [B, L, H * D]."""
    return array.transpose(0, 2, 1, 3).reshape(array.shape[0], array.shape[2], -1)


def split(case, out):
    """And back, out of what is bound."""
    out = out.numpy()
    return out.reshape(*out.shape[:2], case["heads"], -1).transpose(0, 2, 1, 3)


def whole(operator, domain, case, arrays, **attributes):
    shape = (case["batch"], case["length"], case["heads"] * case["head_dim"])
    inputs = {name: (FLOAT, shape) for name in "qkv"}
    session = session_of(operator, domain, inputs, {"out": (FLOAT, shape)}, **attributes)
    out = empty(*shape)
    binding = bound(session, {name: on_device(joined(x)) for name, x in zip("qkv", arrays)}, {"out": out})

    def run():
        session.run_with_iobinding(binding)
        return out

    return Form(run, arranged=lambda out: split(case, out))


def multi_head(case, q, k, v, _projection):
    return whole(
        "MultiHeadAttention", "com.microsoft", case, (q, k, v),
        num_heads=case["heads"], scale=case["head_dim"] ** -0.5, unidirectional=int(case["causal"]),
    )


def standard(case, q, k, v, _projection):
    heads = case["heads"]
    return whole(
        "Attention", "", case, (q, k, v),
        q_num_heads=heads, kv_num_heads=heads, is_causal=int(case["causal"]),
    )


def grouped(case, q, k, v, _projection):
    """The operator of language models: causal over a cache that it extends in place."""
    batch, heads, length, dim = case["batch"], case["heads"], case["length"], case["head_dim"]
    count = 1 if case["decode"] else length
    row, cache = (FLOAT, (batch, count, heads * dim)), (FLOAT, (batch, heads, length, dim))
    session = session_of(
        "GroupQueryAttention", "com.microsoft",
        {"q": row, "k": row, "v": row, "past_k": cache, "past_v": cache, "last": (INT, (batch,)), "total": (INT, ())},
        {"out": row, "present_k": cache, "present_v": cache},
        num_heads=heads, kv_num_heads=heads, scale=dim**-0.5,
    )
    keys, values = empty(*cache[1]), empty(*cache[1])
    tokens = [
        {name: on_device(joined(x[:, :, start : start + count])) for name, x in zip("qkv", (q, k, v))}
        for start in range(0, case["tokens"], count)
    ]

    def call(start):
        seen = start + count
        past = {"past_k": keys, "past_v": values}
        sizes = {"last": on_device(numpy.full(batch, seen - 1, numpy.int32)), "total": on_device(numpy.array(seen, numpy.int32))}
        out = empty(batch, count, heads * dim)
        given = {**tokens[start // count % len(tokens)], **past, **sizes}
        return bound(session, given, {"out": out, "present_k": keys, "present_v": values}), out

    calls = [call(start) for start in range(0, length, count)]

    def run(t=0):
        binding, out = calls[t]
        session.run_with_iobinding(binding)
        return out

    if not case["decode"]:
        return Form(run, arranged=lambda out: split(case, out))
    form = decoding(case, lambda: None, run)
    form.arranged = lambda outs: [split(case, out) for out in outs]
    return form


def forms(case):
    if case["method"] != ("softmax" if case["decode"] else "softmax-online"):
        return {}
    if case["decode"]:
        return {"GroupQueryAttention": grouped}
    found = {"MultiHeadAttention": multi_head, "Attention-23": standard}
    return {**found, "GroupQueryAttention": grouped} if case["causal"] else found
