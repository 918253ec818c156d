"""Makes Tests/Fixtures/operators.safetensors: for each operator sample its inputs and what torch makes of them.

`SAMPLE.in.0`, `SAMPLE.in.1`, ... and `SAMPLE.out` (computed in float64, rounded to float32). The samples' attributes stand in
Tests/TestSupport/OperatorSamples.swift under the same names. Wants torch, safetensors.
"""

import pathlib

import safetensors.torch
import torch
import torch.nn.functional as F

generator = torch.Generator().manual_seed(20)
tensors = {}


def r(*shape, scale=1.0):
    return torch.randn(shape, generator=generator) * scale


def sample(name, function, *inputs):
    wide = [t.double() if t.is_floating_point() else t for t in inputs]
    output = function(*wide)
    if output.is_floating_point():
        output = output.float()
    tensors.update({f"{name}.in.{i}": t.contiguous().clone() for i, t in enumerate(inputs)})
    tensors[f"{name}.out"] = output.contiguous().clone()


special = torch.tensor([0.0, -0.0, 1e-30, 60.0, -60.0, float("inf"), float("-inf"), float("nan")])
activations = {
    "gelu_erf": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "gelu_quick": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": F.relu, "sigmoid": torch.sigmoid, "silu": F.silu, "tanh": torch.tanh}
unary = activations | {"negate": torch.neg, "exp": torch.exp, "erf": torch.erf}
for name, function in unary.items():
    sample(name, function, r(2, 5, scale=2))
    sample(f"{name}_special", function, special)
for name, function in {"log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt}.items():
    sample(name, function, r(2, 5).abs() + 0.01)
    sample(f"{name}_special", function, special)

binary = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum}
for name, function in binary.items():
    sample(name, function, r(2, 3, 4), r(2, 3, 4))
    sample(f"{name}_broadcast", function, r(2, 1, 4), r(3, 1))
    sample(f"{name}_special", function, special, special.roll(3))
sample("power", torch.pow, r(2, 5).abs(), r(2, 5))
sample("power_broadcast", torch.pow, r(2, 5), torch.tensor(2.0))

x, w, b = r(2, 3, 7), r(5, 7), r(5)
sample("linear", F.linear, x, w, b)
sample("linear_no_bias", F.linear, x, w)
sample("linear_gelu", lambda x, w, b: F.gelu(F.linear(x, w, b)), x, w, b)
sample("gather", lambda t, i: t[i], r(6, 3), torch.tensor([[0, 5, 2], [5, 1, 1]]))
sample("gather_integers", lambda t, i: t[i], torch.arange(8) * 1_000_000_007, torch.tensor([7, 0]))
sample("reshape", lambda t: t.reshape(2, 3, 2, 4), r(2, 3, 8))
sample("transpose", lambda t: t.permute(0, 2, 1, 3), r(2, 3, 2, 4))
sample("slice", lambda t: t[1:4, 2:5], r(6, 7))
sample("concat", lambda *t: torch.cat(t, 1), r(2, 3, 2), r(2, 1, 2), r(2, 3, 2))
sample("expand", lambda t: t.expand(2, 3, 4), r(3, 1))
sample("copy", lambda t: t, r(2, 3))
sample("cast_to_floats", lambda t: t.float(), torch.tensor([[0, 1, -7], [1 << 30, 2, 3]]))
sample("cast_to_integers", lambda t: t.long(), torch.tensor([0.9, -0.9, 3.0, -2.5]))
sample("cast_to_flags", lambda t: t.bool(), torch.tensor([[0, 1, -7]]))
for name, function in {"equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_or_equal": torch.le,
                       "greater": torch.gt, "greater_or_equal": torch.ge}.items():
    sample(f"compare_{name}", function, torch.tensor([[1.0], [2.0]]), torch.tensor([0.0, 1.0, 2.0, float("nan")]))
sample("compare_integers", torch.lt, torch.tensor([[1 << 53], [(1 << 53) + 1]]), torch.tensor([1 << 53, (1 << 53) + 1]))
sample("select", torch.where, torch.tensor([[True], [False]]), r(2, 3), torch.tensor(-1.5))
for kind, function in {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}.items():
    sample(f"reduce_{kind}", lambda t: function(t, dim=(1,), keepdim=True), r(2, 5, 3))
    sample(f"reduce_{kind}_drop", lambda t: function(t, dim=(0, 2)), r(2, 5, 3))
sample("matmul", torch.matmul, r(2, 3, 4, 5), r(2, 3, 5, 6))
sample("matmul_broadcast", torch.matmul, r(3, 4, 5), r(2, 1, 5, 6))
sample("softmax", lambda t: t.softmax(-1), r(2, 3, 7, scale=5))
sample("layer_norm", lambda x, w, b: F.layer_norm(x, (7,), w, b, 1e-5), x, r(7), r(7))
sample("layer_norm_no_bias", lambda x, w: F.layer_norm(x, (7,), w, None, 1e-12), x, r(7))
sample("l2_norm", lambda t: F.normalize(t, dim=-1), torch.cat([r(3, 7), torch.zeros(1, 7)]))

q, k, v = r(2, 4, 3, 5), r(2, 4, 6, 5), r(2, 4, 6, 7)
lowest = torch.finfo(torch.float32).min
mask = torch.tensor([[0, 0, 0, 0, lowest, lowest], [0] * 6])[:, None, None]
sample("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.5), q, k, v)
sample("attention_mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.5), q, k, v, mask)
# A row that is masked everywhere weighs all keys alike, as in float32 the lowest number swallows every score.
sample("attention_all_masked", lambda q, k, v, m: v.mean(2, keepdim=True).expand(2, 4, 3, 7), q, k, v, torch.full((1, 1, 1, 6), lowest))
sample("attention_grouped", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.5, enable_gqa=True),
       q, k[:, :2], v[:, :2], r(3, 6))

# New samples go last, after `fresh` with the next number: earlier ones do not change.
def fresh(seed):
    global generator
    generator = torch.Generator().manual_seed(seed)


fresh(21)
sample("conv", lambda x, w, b: F.conv1d(x, w, b), r(2, 3, 9), r(4, 3, 3), r(4))
sample("conv_strided", lambda x, w: F.conv1d(F.pad(x, (2, 1)), w, None, stride=2, dilation=3, groups=2), r(2, 4, 12), r(6, 2, 3))
sample("conv_depthwise", lambda x, w, b: F.conv1d(x, w, b, padding=3, groups=4), r(2, 4, 8), r(4, 1, 7), r(4))
sample("conv_2d", lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(0, 1), dilation=(1, 2)), r(2, 3, 6, 7), r(5, 3, 2, 3), r(5))
sample("conv_3d", lambda x, w: F.conv3d(x, w), r(1, 2, 3, 4, 5), r(3, 2, 2, 2, 2))
sample("conv_transpose", lambda x, w, b: F.conv_transpose1d(x, w, b, stride=2, padding=1), r(2, 3, 4), r(3, 5, 4), r(5))
sample("conv_transpose_grouped", lambda x, w: F.conv_transpose1d(x, w, None, stride=3, padding=1, output_padding=2, groups=2, dilation=2),
       r(2, 4, 5), r(4, 3, 3))
sample("conv_transpose_2d", lambda x, w, b: F.conv_transpose2d(x, w, b, stride=(2, 3)), r(2, 3, 4, 2), r(3, 2, 3, 2), r(2))

fresh(22)
sample("rms_norm", lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, r(2, 3, 7), r(7))


def rope(x, cos, sin):
    half = cos.shape[-1]
    cos, sin = (torch.cat([t, t], -1) for t in (cos, sin))
    turned, rest = x[..., :2 * half], x[..., 2 * half:]
    rotated = torch.cat([-turned[..., half:], turned[..., :half]], -1)
    return torch.cat([turned * cos + rotated * sin, rest], -1)


def angles(*shape):
    angle = r(*shape, scale=3)
    return angle.cos(), angle.sin()


sample("rope", rope, r(2, 4, 3, 8), *angles(3, 4))
sample("rope_partial", rope, r(2, 4, 3, 7), *angles(2, 1, 3, 2))


def update(axis):
    def function(target, block, place):
        rows = [place] if place.ndim == 0 or len(place) == 1 else place
        parts = target.clone().chunk(len(rows), 0)
        for part, source, row in zip(parts, block.chunk(len(rows), 0), rows):
            part.narrow(axis, int(row), block.shape[axis]).copy_(source)
        return torch.cat(parts)
    return function


sample("update_slice", update(2), r(2, 3, 6, 4), r(2, 3, 2, 4), torch.tensor(3))
sample("update_slice_rows", update(1), r(2, 6, 4), r(2, 3, 4), torch.tensor([3, 1]))
sample("update_slice_integers", update(0), torch.arange(5), torch.tensor([70, 80]), torch.tensor([0]))

fresh(23)
for name, function in {"sin": torch.sin, "cos": torch.cos, "floor": torch.floor, "leaky_relu": lambda x: F.leaky_relu(x, 0.2)}.items():
    sample(name, function, r(2, 5, scale=2))
    sample(f"{name}_special", function, special)
for name, function in {"modulo": torch.remainder, "atan2": torch.atan2}.items():
    sample(name, function, r(2, 3, 4), r(2, 3, 4))
    sample(f"{name}_broadcast", function, r(2, 1, 4), r(3, 1))
    sample(f"{name}_special", function, special, special.roll(3))
sample("snake", lambda x, a: x + torch.sin(a * x).pow(2) / (a + 1e-9), r(2, 3, 5), r(1, 3, 1).abs() + 0.1)
sample("cumsum", lambda x: x.cumsum(1), r(2, 5, 3))
sample("argmax", lambda x: x.argmax(-1), torch.tensor([[1.0, 3.0, 3.0], [2.0, float("nan"), 9.0], [-3.0, -2.0, -1.0]]))
sample("argmax_keep", lambda x: x.argmax(1, keepdim=True), r(2, 5, 3))
sample("pad_constant", lambda x: F.pad(x, (1, 2, 0, 1), value=-1.5), r(2, 3, 4))
sample("pad_reflect", lambda x: F.pad(x, (3, 2), mode="reflect"), r(2, 3, 4))
sample("pad_edge", lambda x: F.pad(x, (1, 5), mode="replicate"), r(2, 3, 4))
sample("resize_nearest", lambda x: F.interpolate(x, 7, mode="nearest"), r(2, 3, 4))
sample("resize_linear_up", lambda x: F.interpolate(x, 12, mode="linear"), r(2, 3, 4))
sample("resize_linear_down", lambda x: F.interpolate(x, 3, mode="linear"), r(2, 3, 9))
sample("resize_bilinear", lambda x: F.interpolate(x, (3, 8), mode="bilinear"), r(2, 3, 5, 4))

fresh(24)
sample("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b, 1e-5), r(2, 4, 3, 5), r(4), r(4))
sample("instance_norm", lambda x: F.instance_norm(x, eps=1e-5), r(2, 3, 7))
sample("instance_norm_affine", lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5), r(2, 3, 4, 5), r(3), r(3))


def valid(x, weight, bias, lengths):
    result = torch.zeros_like(x)
    for row, length in enumerate(lengths.expand(len(x)).tolist()):
        part = F.instance_norm(x[row:row + 1, :, :length], eps=1e-5)
        result[row, :, :length] = part * weight[row, :, None] + bias[row, :, None]
    return result


sample("instance_norm_valid", valid, r(2, 3, 7), r(2, 3), r(2, 3), torch.tensor([4, 7]))
sample("instance_norm_valid_plain", lambda x, n: valid(x, torch.ones(2, 3), torch.zeros(2, 3), n), r(2, 3, 7), torch.tensor(5))


def cell(x, state, wi, wh, *biases):
    return torch.stack(torch.lstm_cell(x, (state[0], state[1]), wi, wh, *biases))


sample("lstm_cell", cell, r(2, 5), r(2, 2, 3), r(12, 5), r(12, 3), r(12), r(12))
sample("lstm_cell_no_bias", cell, r(2, 5), r(2, 2, 3), r(12, 5), r(12, 3))

fresh(25)
elu = lambda x: F.elu(x, 0.75)
sample("elu", elu, r(2, 5, scale=2))
sample("elu_special", elu, special)

fresh(26)
# The scale that Core ML's own attention has: one over the root of the width.
native = lambda *inputs: F.scaled_dot_product_attention(*inputs)
q, k, v, mask = r(2, 4, 3, 5), r(2, 4, 6, 5), r(2, 4, 6, 7), r(2, 1, 1, 6)
sample("attention_native", native, q, k, v)
sample("attention_native_mask", native, q, k, v, mask)

fresh(27)


def rounded(x, scale=None, lowest=None):
    """Each row in 255 steps of its range and 0, or of a given one, in float32."""
    x = x.float()
    if scale is not None:
        return (torch.clamp(torch.round(x * (1 / torch.tensor(scale))), lowest, lowest + 255) * torch.tensor(scale)).double()
    least, most = x.amin(-1, keepdim=True).clamp(max=0), x.amax(-1, keepdim=True).clamp(min=0)
    scale = most / 255 - least / 255
    lowest = torch.round(least * (1 / scale))
    steps = torch.clamp(torch.round(x * (1 / scale)), lowest, lowest + 255)
    return (steps * scale).double()


sample("quantized_linear", lambda x, w, b: F.linear(rounded(x), w, b), r(2, 3, 7), r(5, 7), r(5))
sample("quantized_linear_relu", lambda x, w: F.relu(F.linear(rounded(x), w)), r(2, 3, 7), r(5, 7))

sample("quantized_linear_static", lambda x, w, b: F.linear(rounded(x, 0.0078125, -100), w, b), r(2, 3, 7), r(5, 7), r(5))

half = lambda x: x.float().bfloat16().double()
sample("quantized_linear_bfloat16", lambda x, w, b: F.linear(half(x), half(w), b), r(2, 3, 7), r(5, 7), r(5))

fresh(28)


def byte_rows(x):
    """Each row as codes of 8 bits, and then the four bytes of its scale, in float32."""
    x = x.float()
    most = x.abs().amax(-1, keepdim=True)
    scale = torch.where(most == 0, 0.0, torch.clamp(most / 127, min=2.0 ** -126))
    scale = torch.where(x.isfinite().all(-1, keepdim=True), scale, float("nan"))
    codes = torch.where(scale > 0, torch.clamp(torch.round(x * (1 / scale)), -127, 127), 0.0)
    return torch.cat([codes.to(torch.int8), scale.contiguous().view(torch.int8)], -1)


def wide_rows(rows):
    """The float32 numbers of such rows."""
    return (rows[..., :-4].float() * rows[..., -4:].contiguous().view(torch.float32)).double()


tiny, smallest = 2.0 ** -126, 2.0 ** -149
edges = torch.tensor([
    [0, -0.0, 0, 0, 0, 0], [127, 0.5, 1.5, 2.5, -0.5, -1.5], [-127, 126.5, -126.5, 125.5, 0.25, 1e-9],
    [float("inf"), 1, 2, 3, 4, 5], [1, 2, float("nan"), 3, 4, 5], [float("-inf"), float("inf"), 0, 0, 0, 0],
    [smallest, 0, -smallest, 5 * smallest, 0, 0], [tiny, tiny / 2, -tiny / 2, tiny * 0.75, -tiny, 0],
    [200 * tiny, 100 * tiny, -tiny, smallest, 0, 3 * tiny], [3.4028235e38, -3.4028235e38, 1e38, 1.5e36, -1, 0]])
sample("round_rows", byte_rows, r(2, 3, 7))
sample("round_rows_special", byte_rows, edges)
sample("widen_rows", wide_rows, byte_rows(r(2, 3, 7)))
sample("widen_rows_special", wide_rows, byte_rows(edges))
sample("attention_rows", lambda q, k, v, m: F.scaled_dot_product_attention(q, wide_rows(k), wide_rows(v), m, scale=0.5, enable_gqa=True),
       r(2, 4, 3, 5), byte_rows(r(2, 2, 6, 5)), byte_rows(r(2, 2, 6, 7)), r(3, 6))

fresh(29)


def lstm(gates, weight, bias=None, lengths=None, reverses=False):
    """torch's layer over gates that are projected already: its own weight of the inputs is the identity."""
    rows, width = weight.shape
    layer = torch.nn.LSTM(rows, width, bias=False, batch_first=True).to(gates.dtype)
    layer.weight_ih_l0.data, layer.weight_hh_l0.data = torch.eye(rows, dtype=gates.dtype), weight
    gates = gates if bias is None else gates + bias
    result = gates.new_zeros(*gates.shape[:2], width)
    lengths = torch.tensor(gates.shape[1]) if lengths is None else lengths
    turn = (lambda x: x.flip(1)) if reverses else (lambda x: x)
    with torch.no_grad():
        for row, length in enumerate(lengths.expand(len(gates)).tolist()):
            result[row, :length] = turn(layer(turn(gates[row:row + 1, :length]))[0])
    return result


reverse_lstm = lambda gates, weight, bias=None, lengths=None: lstm(gates, weight, bias, lengths, True)
sample("lstm", lstm, r(2, 5, 12), r(12, 3), r(12))
sample("lstm_reverse", reverse_lstm, r(2, 5, 12), r(12, 3))
sample("lstm_valid", lstm, r(2, 7, 12), r(12, 3), r(12), torch.tensor([4, 7]))
sample("lstm_valid_reverse", reverse_lstm, r(2, 7, 12), r(12, 3), r(12), torch.tensor([7, 3]))
sample("lstm_valid_one", lambda gates, weight, n: reverse_lstm(gates, weight, None, n), r(2, 6, 12), r(12, 3), torch.tensor(5))

path = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "operators.safetensors"
safetensors.torch.save_file(tensors, path)
print(f"{path}: {len(tensors)} tensors, {path.stat().st_size} bytes")
