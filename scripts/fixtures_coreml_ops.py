"""Samples of Core ML's operations for fixtures_coreml.py: how coremltools builds each, and what torch makes of the same inputs."""

import dataclasses
import typing

import numpy
import torch
import torch.nn.functional as F
from coremltools.converters.mil import Builder as mb


@dataclasses.dataclass
class Sample:
    name: str
    inputs: dict
    build: typing.Callable
    expected: typing.Callable
    since: int = 16


def samples(random):
    """The samples of all targets; `since` is the first iOS that has the operation in this form."""
    r = lambda *shape: random.standard_normal(shape).astype(numpy.float32)
    x, y, m, p = {"x": r(2, 3, 4)}, {"y": r(2, 3, 4)}, {"m": r(3, 4)}, {"p": numpy.abs(r(2, 3, 4)) + 0.1}
    img, sig, ids = {"img": r(1, 4, 5, 6)}, {"sig": r(2, 4, 9)}, {"ids": numpy.array([[0, 2, 1], [2, 2, 0]], numpy.int32)}
    i, j = {"i": numpy.array([[7, -7, 5]], numpy.int32)}, {"j": numpy.array([[2, 2, -3]], numpy.int32)}
    at = {"at": numpy.array([1], numpy.int32)}
    q, k, v = {"q": r(2, 2, 5, 8)}, {"k": r(2, 2, 7, 8)}, {"v": r(2, 2, 7, 4)}
    w = lambda *shape: torch.from_numpy(r(*shape))
    found = []

    def add(name, inputs, build, expected, since=16):
        found.append(Sample(name, inputs, build, expected, since))

    def unary(name, expected, inputs=x, **options):
        add(name, inputs, lambda a: getattr(mb, name)(x=a, **options), expected)

    for name, function in {
            "relu": F.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "silu": F.silu, "erf": torch.erf, "exp": torch.exp,
            "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "atan": torch.atan, "abs": torch.abs, "square": torch.square,
            "sign": torch.sign, "round": torch.round, "floor": torch.floor, "ceil": torch.ceil, "sinh": torch.sinh,
            "cosh": torch.cosh, "exp2": torch.exp2, "relu6": F.relu6, "softsign": F.softsign, "softplus": F.softplus}.items():
        unary(name, function)
    unary("sqrt", torch.sqrt, p)
    unary("asin", torch.asin, {"unit": numpy.tanh(r(3, 4))})
    add("acos", {"unit": found[-1].inputs["unit"]}, lambda a: mb.acos(x=a), torch.acos)
    unary("rsqrt", lambda a: (a + 0.25) ** -0.5, p, epsilon=0.25)
    unary("log", lambda a: torch.log(a + 0.5), p, epsilon=0.5)
    unary("inverse", lambda a: 1 / (a + 0.125), p, epsilon=0.125)
    unary("clip", lambda a: a.clamp(-0.5, 0.75), alpha=-0.5, beta=0.75)
    unary("elu", lambda a: F.elu(a, 0.5), alpha=0.5)
    unary("leaky_relu", lambda a: F.leaky_relu(a, 0.125), alpha=0.125)
    unary("linear_activation", lambda a: 2 * a - 1, alpha=2.0, beta=-1.0)
    unary("sigmoid_hard", lambda a: (0.25 * a + 0.5).clamp(0, 1), alpha=0.25, beta=0.5)
    unary("identity", lambda a: a)
    for mode, approximate in [("EXACT", "none"), ("TANH_APPROXIMATION", "tanh")]:
        add(f"gelu_{approximate}", x, lambda a, mode=mode: mb.gelu(x=a, mode=mode), lambda a, approximate=approximate: F.gelu(a, approximate=approximate))
    add("gelu_sigmoid", x, lambda a: mb.gelu(x=a, mode="SIGMOID_APPROXIMATION"), lambda a: a * torch.sigmoid(1.702 * a))
    add("softmax_last", x, lambda a: mb.softmax(x=a, axis=-1), lambda a: torch.softmax(a, -1))
    add("softmax_middle", x, lambda a: mb.softmax(x=a, axis=1), lambda a: torch.softmax(a, 1))
    add("cast_int", x, lambda a: mb.cast(x=a, dtype="int32"), lambda a: a.int())
    add("cast_float", i, lambda a: mb.cast(x=a, dtype="fp32"), lambda a: a.double())
    add("cast_half", x, lambda a: mb.cast(x=mb.cast(x=a, dtype="fp16"), dtype="fp32"), lambda a: a.float().half().double())
    add("cast_bool", i, lambda a: mb.cast(x=a, dtype="bool"), lambda a: a.bool())

    for name, function in {
            "add": torch.add, "sub": torch.sub, "mul": torch.mul, "real_div": torch.div, "maximum": torch.maximum,
            "minimum": torch.minimum, "floor_div": lambda a, b: torch.floor(a / b), "mod": torch.remainder}.items():
        add(name, x | m, lambda a, b, name=name: getattr(mb, name)(x=a, y=b), function)
    add("pow", p | m, lambda a, b: mb.pow(x=a, y=b), torch.pow)
    for name, function in {
            "add": torch.add, "sub": torch.sub, "mul": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum,
            "floor_div": lambda a, b: torch.div(a, b, rounding_mode="floor"), "mod": torch.remainder}.items():
        add(f"{name}_int", i | j, lambda a, b, name=name: getattr(mb, name)(x=a, y=b), function)
    for name, function in {
            "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le, "greater": torch.gt, "greater_equal": torch.ge}.items():
        add(name, i | j, lambda a, b, name=name: getattr(mb, name)(x=a, y=b), function)
    for name, function in {"logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor}.items():
        add(name, i | j, lambda a, b, name=name: getattr(mb, name)(x=mb.greater(x=a, y=0), y=mb.greater(x=b, y=0)), lambda a, b, function=function: function(a > 0, b > 0))
    add("logical_not", i, lambda a: mb.logical_not(x=mb.greater(x=a, y=0)), lambda a: ~(a > 0))
    add("select", x | y, lambda a, b: mb.select(cond=mb.greater(x=a, y=0.0), a=a, b=b), lambda a, b: torch.where(a > 0, a, b))
    add("select_int", i | j, lambda a, b: mb.select(cond=mb.greater(x=a, y=b), a=a, b=b), lambda a, b: torch.where(a > b, a, b))

    weight, bias = w(5, 4), w(5)
    add("linear", x, lambda a: mb.linear(x=a, weight=weight.numpy(), bias=bias.numpy()), lambda a: F.linear(a, weight.double(), bias.double()))
    add("matmul", x | y, lambda a, b: mb.matmul(x=a, y=b, transpose_y=True), lambda a, b: a @ b.transpose(1, 2))
    add("matmul_turned", x | y, lambda a, b: mb.matmul(x=a, y=b, transpose_x=True), lambda a, b: a.transpose(1, 2) @ b)
    add("matmul_wide", x, lambda a: mb.matmul(x=a, y=weight.numpy().T.copy()), lambda a: a @ weight.double().T)
    add("einsum", {"e": r(1, 4, 2, 3), "f": r(1, 3, 2, 5)}, lambda a, b: mb.einsum(values=[a, b], equation="nchw,nwhu->nchu"), lambda a, b: torch.einsum("nchw,nwhu->nchu", a, b))
    kernel, narrow, deep = w(6, 4, 3, 3), w(8, 2, 3), w(4, 3, 4)
    add("conv", img, lambda a: mb.conv(x=a, weight=kernel.numpy(), bias=numpy.arange(6, dtype=numpy.float32), strides=[2, 1], pad_type="custom", pad=[1, 0, 2, 1]),
        lambda a: F.conv2d(F.pad(a, (2, 1, 1, 0)), kernel.double(), torch.arange(6).double(), stride=(2, 1)))
    add("conv_same", sig, lambda a: mb.conv(x=a, weight=narrow.numpy(), pad_type="same", groups=2, dilations=[2]),
        lambda a: F.conv1d(a, narrow.double(), padding="same", groups=2, dilation=2))
    add("conv_valid", sig, lambda a: mb.conv(x=a, weight=narrow.numpy(), groups=2, strides=[3]), lambda a: F.conv1d(a, narrow.double(), groups=2, stride=3))
    add("conv_transpose", sig, lambda a: mb.conv_transpose(x=a, weight=deep.numpy(), strides=[2], pad_type="custom", pad=[1, 1], bias=numpy.ones(3, numpy.float32)),
        lambda a: F.conv_transpose1d(a, deep.double(), torch.ones(3).double(), stride=2, padding=1))
    add("conv_transpose_shaped", sig, lambda a: mb.conv_transpose(x=a, weight=deep.numpy(), strides=[2], pad_type="custom", pad=[1, 1], output_shape=[2, 3, 19]),
        lambda a: F.conv_transpose1d(a, deep.double(), stride=2, padding=1, output_padding=1))
    add("attention", q | k | v, lambda a, b, c: mb.scaled_dot_product_attention(query=a, key=b, value=c), lambda a, b, c: F.scaled_dot_product_attention(a, b, c), 18)
    mask = w(5, 7)
    add("attention_masked", q | k | v, lambda a, b, c: mb.scaled_dot_product_attention(query=a, key=b, value=c, attn_mask=mask.numpy()),
        lambda a, b, c: F.scaled_dot_product_attention(a, b, c, attn_mask=mask.double()), 18)

    gain, shift, gain3 = w(4), w(4), w(3)
    add("layer_norm", x, lambda a: mb.layer_norm(x=a, axes=[-1], gamma=gain.numpy(), beta=shift.numpy(), epsilon=0.01),
        lambda a: F.layer_norm(a, (4,), gain.double(), shift.double(), 0.01))
    add("layer_norm_middle", x, lambda a: mb.layer_norm(x=a, axes=[1], gamma=gain3.numpy(), epsilon=0.01),
        lambda a: F.layer_norm(a.transpose(1, 2), (3,), gain3.double(), eps=0.01).transpose(1, 2))
    add("layer_norm_two", x, lambda a: mb.layer_norm(x=a, axes=[1, 2]), lambda a: F.layer_norm(a, (3, 4)))
    add("instance_norm", img, lambda a: mb.instance_norm(x=a, gamma=gain.numpy(), beta=shift.numpy()), lambda a: F.instance_norm(a, weight=gain.double(), bias=shift.double()))
    add("batch_norm", img, lambda a: mb.batch_norm(x=a, mean=shift.numpy(), variance=gain.numpy() ** 2, gamma=gain.numpy(), beta=shift.numpy(), epsilon=0.5),
        lambda a: F.batch_norm(a, shift.double(), gain.double() ** 2, gain.double(), shift.double(), eps=0.5))
    add("l2_norm", img, lambda a: mb.l2_norm(x=a, epsilon=0.25), lambda a: a / (a.square().sum((1, 2, 3), True) + 0.25).sqrt())

    for name, function in {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin}.items():
        add(f"reduce_{name}", x, lambda a, name=name: getattr(mb, f"reduce_{name}")(x=a, axes=[0, -1], keep_dims=True), lambda a, function=function: function(a, (0, 2), True))
    add("reduce_sum_square", x, lambda a: mb.reduce_sum_square(x=a, axes=[1]), lambda a: a.square().sum(1))
    add("reduce_l1_norm", x, lambda a: mb.reduce_l1_norm(x=a, axes=[1]), lambda a: a.abs().sum(1))
    add("reduce_l2_norm", x, lambda a: mb.reduce_l2_norm(x=a, axes=[1]), lambda a: a.norm(dim=1))
    add("reduce_max_int", i, lambda a: mb.reduce_max(x=a, axes=[1]), lambda a: a.amax(1))
    add("reduce_argmax", x, lambda a: mb.reduce_argmax(x=a, axis=1), lambda a: a.argmax(1))
    add("reduce_argmin", x, lambda a: mb.reduce_argmin(x=a, axis=-1, keep_dims=True), lambda a: a.argmin(-1, True))
    add("cumsum", x, lambda a: mb.cumsum(x=a, axis=1), lambda a: a.cumsum(1))
    add("cumsum_back", x, lambda a: mb.cumsum(x=a, axis=-1, exclusive=True, reverse=True), lambda a: a.flip(-1).cumsum(-1).flip(-1) - a)

    table = w(3, 5)
    add("gather", ids, lambda a: mb.gather(x=table.numpy(), indices=a, axis=0), lambda a: table.double()[a.long()])
    add("gather_axis", x | ids, lambda a, b: mb.gather(x=a, indices=b, axis=1), lambda a, b: a[:, b.long()])
    add("gather_back", x, lambda a: mb.gather(x=a, indices=numpy.array([-1, 0], numpy.int32), axis=2), lambda a: a[:, :, [-1, 0]])
    add("gather_batches", x | ids, lambda a, b: mb.gather(x=a, indices=b, axis=1, batch_dims=1), lambda a, b: torch.stack([a[n][b[n].long()] for n in range(2)]))
    along = torch.tensor([[[2, 0, 1, 1], [0, 0, 2, 1]], [[1, 1, 1, 0], [2, 0, 0, 2]]])
    add("gather_along_axis", x, lambda a: mb.gather_along_axis(x=a, indices=along.int().numpy(), axis=1), lambda a: a.gather(1, along))
    add("one_hot", ids, lambda a: mb.cast(x=mb.one_hot(indices=a, one_hot_vector_size=4), dtype="fp32"), lambda a: F.one_hot(a.long(), 4).double())

    add("reshape", x, lambda a: mb.reshape(x=a, shape=[2, -1]), lambda a: a.reshape(2, 12))
    add("transpose", x, lambda a: mb.transpose(x=a, perm=[2, 0, -2]), lambda a: a.permute(2, 0, 1))
    add("expand_dims", x, lambda a: mb.expand_dims(x=a, axes=[0, -1]), lambda a: a[None, ..., None])
    add("squeeze", img, lambda a: mb.squeeze(x=a, axes=[0]), lambda a: a[0])
    add("concat", x | y, lambda a, b: mb.concat(values=[a, b, a], axis=-2), lambda a, b: torch.cat([a, b, a], 1))
    add("stack", x | y, lambda a, b: mb.stack(values=[a, b], axis=1), lambda a, b: torch.stack([a, b], 1))
    add("split", x, lambda a: mb.sub(x=mb.split(x=a, num_splits=2, axis=2)[1], y=1.5), lambda a: a[..., 2:] - 1.5)
    add("split_sizes", img, lambda a: mb.sub(x=mb.split(x=a, split_sizes=[1, 4], axis=2)[1], y=0.5), lambda a: a[:, :, 1:] - 0.5)
    for mode, torch_mode in [("constant", "constant"), ("reflect", "reflect"), ("replicate", "replicate")]:
        add(f"pad_{mode}", img, lambda a, mode=mode: mb.pad(x=a, pad=[2, 1, 0, 3], mode=mode), lambda a, mode=torch_mode: F.pad(a, (0, 3, 2, 1), mode=mode))
    add("pad_value", sig, lambda a: mb.pad(x=a, pad=[1, 0, 0, 2], mode="constant", constant_val=-3.5), lambda a: F.pad(a, (0, 2, 1, 0), value=-3.5))
    add("tile", x, lambda a: mb.tile(x=a, reps=[2, 1, 3]), lambda a: a.repeat(2, 1, 3))
    add("fill", x, lambda a: mb.add(x=a, y=mb.fill(shape=[3, 4], value=2.5)), lambda a: a + 2.5)
    add("range_1d", x, lambda a: mb.add(x=a, y=mb.cast(x=mb.range_1d(start=1, end=9, step=2), dtype="fp32")), lambda a: a + torch.arange(1, 9, 2).double())
    add("band_part", m, lambda a: mb.band_part(x=a, lower=1, upper=0), lambda a: torch.tril(torch.triu(a, -1)))
    add("pixel_shuffle", img, lambda a: mb.pixel_shuffle(x=a, upscale_factor=2), lambda a: F.pixel_shuffle(a, 2))
    add("slice_by_index", x, lambda a: mb.slice_by_index(x=a, begin=[0, 1, -3], end=[2, 3, -1], begin_mask=[True, False, False]), lambda a: a[:, 1:3, -3:-1])
    add("slice_back", x, lambda a: mb.slice_by_index(x=a, begin=[1, 0, 0], end=[0, 0, 0], stride=[1, -1, 2], begin_mask=[False, True, True], end_mask=[False, True, True], squeeze_mask=[True, False, False]),
        lambda a: a[1].flip(0)[:, ::2])
    add("slice_by_size", x, lambda a: mb.slice_by_size(x=a, begin=[1, 0, 2], size=[1, 2, -1]), lambda a: a[1:, :2, 2:])
    add("slice_from", x | at, lambda a, b: mb.slice_by_size(x=a, begin=mb.concat(values=[[0], b, [0]], axis=0), size=[2, 2, 4]), lambda a, b: a[:, int(b):int(b) + 2])
    def updated(a, place, value):
        a = a.clone()
        a[place] = value
        return a
    add("slice_update", x | m, lambda a, b: mb.slice_update(x=a, update=mb.slice_by_size(x=b, begin=[0, 0], size=[1, 4]), begin=[1, 2, 0], end=[2, 3, 0], end_mask=[False, False, True], squeeze_mask=[True, False, False]),
        lambda a, b: updated(a, (1, slice(2, 3)), b[:1]), 18)
    add("slice_update_from", x | m | at, lambda a, b, c: mb.slice_update(x=a, update=mb.expand_dims(x=mb.slice_by_size(x=b, begin=[0, 0], size=[2, 4]), axes=[0]),
        begin=mb.concat(values=[[0], c, [0]], axis=0), end=mb.concat(values=[[1], mb.add(x=c, y=2), [4]], axis=0)), lambda a, b, c: updated(a, (slice(0, 1), slice(1, 3)), b[None, :2]), 18)

    add("upsample_nearest_neighbor", img, lambda a: mb.upsample_nearest_neighbor(x=a, scale_factor_height=2, scale_factor_width=3), lambda a: F.interpolate(a, scale_factor=(2, 3)))
    add("upsample_bilinear", img, lambda a: mb.upsample_bilinear(x=a, scale_factor_height=2, scale_factor_width=3, align_corners=False), lambda a: F.interpolate(a, scale_factor=(2, 3), mode="bilinear"))
    add("upsample_corners", img, lambda a: mb.upsample_bilinear(x=a, scale_factor_height=2, scale_factor_width=3, align_corners=True), lambda a: F.interpolate(a, scale_factor=(2, 3), mode="bilinear", align_corners=True))
    add("resize_nearest_neighbor", img, lambda a: mb.resize_nearest_neighbor(x=a, target_size_height=7, target_size_width=3), lambda a: F.interpolate(a, size=(7, 3)))
    add("resize_bilinear", img, lambda a: mb.resize_bilinear(x=a, target_size_height=7, target_size_width=9, sampling_mode="UNALIGN_CORNERS"), lambda a: F.interpolate(a, size=(7, 9), mode="bilinear"))
    add("resize_corners", img, lambda a: mb.resize_bilinear(x=a, target_size_height=7, target_size_width=9, sampling_mode="ALIGN_CORNERS"), lambda a: F.interpolate(a, size=(7, 9), mode="bilinear", align_corners=True))
    add("resize", img, lambda a: mb.resize(x=a, shape=[7, 9], resized_dims=numpy.uint32(2), interpolation_mode="LINEAR", sampling_mode="UNALIGN_CORNERS"), lambda a: F.interpolate(a, size=(7, 9), mode="bilinear"), 17)
    return found
