"""Makes Tests/Fixtures/quantized: layers as other tools store quantized weights, and the values that their tools give them.

usage: fixtures_quantized.py [SCHEME...]
       (wants torch, numpy, safetensors, transformers, compressed-tensors, bitsandbytes, hqq, optimum-quanto, torchao, mlx[cpu])
`SCHEME.safetensors` holds tensors named as in a checkpoint, with the configuration and the libraries in its metadata (`config`, `made_by`), and
`golden.NAME` in float32: the decoded weight NAME. The values are those of the reference library (compressed-tensors,
bitsandbytes, hqq, quanto, torchao, transformers). GPTQ and AWQ, whose libraries want a GPU, are packed here in words as
AutoGPTQ's and AutoAWQ's `pack` do, and decoded by their formulas; FP8 and NVFP4 of ModelOpt by theirs, in float32.
"""

import importlib.metadata
import json
import sys

import numpy
import safetensors.torch
import torch

import fixtures

FOLDER = fixtures.FIXTURES / "quantized"


def random(rows, columns, seed=17):
    return torch.from_numpy(numpy.random.default_rng(seed).standard_normal((rows, columns)).astype(numpy.float32)) * 0.1


def stream(codes, bits):
    """Words of 32 bits with the codes of each row, lowest bits first."""
    rows, count = codes.shape
    flat = (codes[..., None] >> numpy.arange(bits) & 1).reshape(rows, count * bits).astype(numpy.uint8)
    flat = numpy.pad(flat, ((0, 0), (0, -flat.shape[1] % 32)))
    return numpy.packbits(flat, axis=1, bitorder="little").view(numpy.int32)


def words(array):
    return torch.from_numpy(numpy.ascontiguousarray(array))


def gptq_layer(tensors, name, bits, group, version, order=False, symmetric=False, rows=32, columns=96, seed=1, uneven=False):
    random = numpy.random.default_rng(seed)
    groups = -(-columns // group)
    codes = random.integers(0, 1 << bits, (rows, columns))
    top = (1 << bits) - 1
    zeros = numpy.full((groups, rows), 1 << bits - 1) if symmetric else random.integers(1, top + 1, (groups, rows))
    scales = torch.from_numpy(random.uniform(0.001, 0.02, (groups, rows))).half()
    indices = numpy.arange(columns) // group
    if order:
        indices = random.permutation(indices)
    if uneven:
        indices = numpy.sort(random.integers(0, groups, columns)) if not order else random.integers(0, groups, columns)
    stored = zeros - 1 if version == 1 else zeros
    tensors[f"{name}.qweight"] = words(stream(codes, bits).T)
    tensors[f"{name}.qzeros"] = words(stream(stored, bits))
    tensors[f"{name}.scales"] = scales
    tensors[f"{name}.g_idx"] = torch.from_numpy(indices.astype(numpy.int32))
    values = scales.float().numpy()[indices].T * (codes - zeros[indices].T).astype(numpy.float32)
    tensors[f"golden.{name}.weight"] = words(values.astype(numpy.float32))


def gptq():
    tensors = {}
    for bits in (2, 3, 4, 8):
        gptq_layer(tensors, f"bits{bits}", bits, 32, 1, seed=bits)
    gptq_layer(tensors, "symmetric", 4, 32, 1, symmetric=True)
    gptq_layer(tensors, "whole", 4, 96, 1)
    gptq_layer(tensors, "wide", 4, 256, 1, rows=32, columns=512)
    gptq_layer(tensors, "ordered", 4, 32, 1, order=True)
    gptq_layer(tensors, "ordered3", 3, 32, 1, order=True)
    gptq_layer(tensors, "ragged", 4, 64, 1, order=True, columns=160)
    gptq_layer(tensors, "uneven", 4, 32, 1, order=True, uneven=True)
    gptq_layer(tensors, "sorted", 4, 32, 1, uneven=True)
    return {
        "quant_method": "gptq", "bits": 4, "sym": False, "desc_act": True, "checkpoint_format": "gptq", "damp_percent": 0.01,
        "dynamic": {"+:.*bits2": {"bits": 2}, "+:.*3": {"bits": 3}, "+:.*bits8": {"bits": 8}, "-:.*head": {}},
    }, tensors


def gptq_v2():
    tensors = {}
    for bits in (2, 3, 4, 8):
        gptq_layer(tensors, f"bits{bits}", bits, 32, 2, seed=bits + 20)
    # Either name of the field is in use.
    return {"quant_method": "gptq", "format": "gptq_v2", "group_size": 32}, tensors


def awq():
    random = numpy.random.default_rng(3)
    rows, columns, group = 32, 96, 32
    codes = random.integers(0, 16, (rows, columns))
    zeros = random.integers(0, 16, (columns // group, rows))
    scales = torch.from_numpy(random.uniform(0.001, 0.02, (columns // group, rows))).half()
    order = [0, 2, 4, 6, 1, 3, 5, 7]

    def pack(matrix):
        shuffled = matrix.reshape(len(matrix), -1, 8)[..., order].reshape(len(matrix), -1)
        return words(stream(shuffled, 4))

    values = scales.float().numpy().repeat(group, 0).T * (codes - zeros.repeat(group, 0).T)
    return {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm", "zero_point": True}, {
        "layer.qweight": pack(codes.T), "layer.qzeros": pack(zeros), "layer.scales": scales,
        "golden.layer.weight": words(values.astype(numpy.float32)),
    }


def bitsandbytes():
    import bitsandbytes.functional as functional

    tensors = {}
    cases = [("", (48, 128), 64, False), ("_nested", (48, 128), 64, True), ("_across", (33, 130), 64, False),
             ("_across_nested", (48, 80), 128, True), ("_half", (6, 64), 128, False), ("_wide", (4, 512), 256, False)]
    for kind in ("nf4", "fp4"):
        for ending, shape, block, nested in cases:
            name = kind + ending
            weight = random(*shape)
            # The library decodes some matrices wrongly on a CPU, and flat tensors rightly.
            packed, state = functional.quantize_4bit(
                weight.reshape(-1), blocksize=block, quant_type=kind, compress_statistics=nested)
            golden = functional.dequantize_4bit(packed, state).reshape(shape)
            state.shape = torch.Size(shape)
            tensors[f"{name}.weight"] = packed
            for key, value in state.as_dict(packed=True).items():
                tensors[f"{name}.weight.{key}"] = value
            tensors[f"golden.{name}.weight"] = golden.float().contiguous()
    codes, largest, _ = functional.int8_vectorwise_quant(random(48, 64).half())
    tensors |= {"int8.weight": codes, "int8.SCB": largest, "int8.weight_format": torch.tensor(0, dtype=torch.uint8)}
    tensors["golden.int8.weight"] = codes.float() * (largest / 127)[:, None]
    return {"quant_method": "bitsandbytes", "bnb_4bit_compute_dtype": "float32", "llm_int8_threshold": 6.0}, tensors


def packed():
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32

    tensors = {}
    generator = torch.Generator().manual_seed(5)
    for bits in (2, 3, 4, 8):
        for symmetric in (True, False):
            name = f"bits{bits}" + ("" if symmetric else "_zeros")
            half = 1 << bits - 1
            codes = torch.randint(-half, half, (32, 96), generator=generator, dtype=torch.int8)
            scales = (torch.rand(32, 3, generator=generator) * 0.02 + 0.001).bfloat16()
            zeros = torch.randint(-half, half, (32, 3), generator=generator, dtype=torch.int8)
            tensors[f"{name}.weight_packed"] = pack_to_int32(codes, bits)
            tensors[f"{name}.weight_scale"] = scales
            tensors[f"{name}.weight_shape"] = torch.tensor([32, 96])
            if not symmetric:
                tensors[f"{name}.weight_zero_point"] = pack_to_int32(zeros, bits, packed_dim=0)
            shifted = codes.float() - (0 if symmetric else zeros.float().repeat_interleave(32, 1))
            tensors[f"golden.{name}.weight"] = shifted * scales.float().repeat_interleave(32, 1)
    codes = torch.randint(-128, 128, (32, 64), generator=generator, dtype=torch.int8)
    scales = torch.rand(32, 1, generator=generator).bfloat16()
    tensors |= {"int8.weight": codes, "int8.weight_scale": scales, "int8.input_scale": torch.ones(1)}
    tensors["golden.int8.weight"] = codes.float() * scales.float()
    groups = {f"bits{bits}{end}": {
        "targets": [f"bits{bits}{end}"], "format": "pack-quantized", "weights": {
            "num_bits": bits, "type": "int", "symmetric": not end, "strategy": "group", "group_size": 32, "dynamic": False,
            "observer": "minmax"}} for bits in (2, 3, 4, 8) for end in ("", "_zeros")}
    groups["rows"] = {"targets": ["int8"], "format": "int-quantized", "weights": {"num_bits": 8, "strategy": "channel"},
                      "input_activations": {"num_bits": 8, "dynamic": True, "strategy": "token"}}
    # Columns in the order of activations, as versions before 2026 write them.
    order = torch.randperm(96, generator=generator) // 32
    tensors |= {f"ordered.{part}": tensors[f"bits4.{part}"].clone() for part in ("weight_packed", "weight_scale", "weight_shape")}
    tensors["ordered.weight_g_idx"] = order.int()
    scales = tensors["ordered.weight_scale"].float()
    codes = tensors["golden.bits4.weight"] / scales.repeat_interleave(32, 1)
    tensors["golden.ordered.weight"] = (codes.round() * scales[:, order]).contiguous()
    groups["ordered"] = {"targets": ["ordered"], "format": "pack-quantized", "weights": {
        "num_bits": 4, "strategy": "group", "group_size": 32, "actorder": "group"}}
    codes = torch.randint(-128, 128, (16, 32), generator=generator, dtype=torch.int8)
    scales, zeros = torch.rand(16, 1, generator=generator), torch.randint(-9, 9, (16, 1), generator=generator, dtype=torch.int8)
    tensors |= {"int8_zeros.weight": codes, "int8_zeros.weight_scale": scales, "int8_zeros.weight_zero_point": zeros}
    tensors["golden.int8_zeros.weight"] = (codes.float() - zeros.float()) * scales
    groups["zeros"] = {"targets": ["int8_zeros"], "weights": {"num_bits": 8, "strategy": "channel", "symmetric": False}}
    return {
        "quant_method": "compressed-tensors", "format": "mixed-precision", "quantization_status": "compressed", "config_groups": groups,
        "ignore": ["lm_head"], "kv_cache_scheme": None, "transform_config": {}, "sparsity_config": {}, "version": "0.20.0",
    }, tensors


def blocks():
    """Sizes where numbers of scales coincide: as many blocks as rows, as many groups as rows, the same tiles of 96 and of 128."""
    tensors, groups = {}, {}
    generator = torch.Generator().manual_seed(31)

    def layer(name, rows, columns, height, width, kind="int", **arguments):
        down, across = -(-rows // height), -(-columns // width)
        scales = torch.rand(down, across, generator=generator) * 0.02 + 0.001
        if kind == "int":
            codes = torch.randint(-127, 128, (rows, columns), generator=generator, dtype=torch.int8)
        else:
            codes = (random(rows, columns) * 100).to(torch.float8_e4m3fn)
        tensors[f"{name}.weight"], tensors[f"{name}.weight_scale"] = codes, scales
        factors = scales.repeat_interleave(height, 0)[:rows].repeat_interleave(width, 1)[:, :columns]
        tensors[f"golden.{name}.weight"] = (codes.float() * factors).contiguous()
        groups[name] = {"targets": [name], "weights": {"num_bits": 8, "type": kind} | arguments}

    layer("int8_blocks", 64, 64, 8, 8, strategy="block", block_structure=[8, 8])
    layer("int8_wide_blocks", 32, 64, 16, 32, strategy="block", block_structure="16x32")
    layer("int8_groups", 16, 256, 1, 16, strategy="group", group_size=16)
    layer("int8_square", 16, 16, 1, 16, strategy="channel")
    layer("float8_blocks", 130, 130, 96, 96, "float", strategy="block", block_structure=[96, 96])
    layer("float8_rows", 16, 64, 1, 64, "float", strategy="block", block_structure=[1, 64])
    layer("float8_tall", 40, 64, 20, 64, "float", strategy="block", block_structure=[20, 64])
    return {"quant_method": "compressed-tensors", "format": "naive-quantized", "config_groups": groups}, tensors


def float8_blocks():
    """Blocks of 96 x 96 whose scales have the shape of blocks of 128 x 128, decoded by transformers' code."""
    from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight

    codes = (random(130, 130) * 100).to(torch.float8_e4m3fn)
    scales = torch.rand((2, 2), generator=torch.Generator().manual_seed(7)) * 0.01
    return {"quant_method": "fp8", "weight_block_size": [96, 96], "activation_scheme": "dynamic"}, {
        "layer.weight": codes, "layer.weight_scale_inv": scales,
        "golden.layer.weight": _dequantize_fp8_weight(codes, scales, [96, 96], torch.float32).contiguous()}


def mlx():
    import mlx.core as mx

    mx.set_default_device(mx.cpu)
    parts = mx.quantize(mx.array(random(16, 64).numpy()), group_size=32, bits=4)
    golden = numpy.array(mx.dequantize(*parts, group_size=32, bits=4))
    return {"bits": 4, "group_size": 32, "plain": False}, {
        **{f"layer.{name}": words(numpy.array(part)) for name, part in zip(("weight", "scales", "biases"), parts)},
        "plain.weight": random(4, 4), "golden.plain.weight": random(4, 4), "golden.layer.weight": words(golden)}


def float8():
    tensors = {}
    kinds = {
        "tensor": ("weight_scale", ()), "rows": ("weight_scale", (160, 1)), "blocks": ("weight_scale_inv", (2, 2)),
        "whole": ("weight_scale_inv", ()),
    }
    for name, (part, shape) in kinds.items():
        codes = (random(160, 144) * 100).to(torch.float8_e4m3fn)
        scales = torch.rand(shape, generator=torch.Generator().manual_seed(7)) * 0.01
        tensors |= {f"{name}.weight": codes, f"{name}.{part}": scales}
        factors = scales.repeat_interleave(128, 0)[:160].repeat_interleave(128, 1)[:, :144] if name == "blocks" else scales
        tensors[f"golden.{name}.weight"] = (codes.float() * factors).contiguous()
    codes = (random(8, 64) * 100).to(torch.float8_e4m3fn)
    powers = torch.arange(110, 126, dtype=torch.uint8).reshape(8, 2)
    tensors |= {"mx.weight": codes, "mx.weight_scale": powers}
    tensors["golden.mx.weight"] = codes.float() * torch.exp2(powers.float() - 127).repeat_interleave(32, 1)
    # Without a method: the shapes of scales have only one reading.
    return {}, tensors


def float4():
    from transformers.integrations.mxfp4 import FP4_VALUES, convert_moe_packed_tensors

    table = torch.tensor(FP4_VALUES, dtype=torch.float32)
    generator = torch.Generator().manual_seed(9)
    codes = torch.randint(0, 256, (16, 48), generator=generator, dtype=torch.uint8)
    values = table[torch.stack([codes & 15, codes >> 4], -1).long()].reshape(16, 96)
    powers = torch.randint(110, 130, (16, 3), generator=generator, dtype=torch.uint8)
    scales = (torch.rand(16, 6, generator=generator) * 300 + 1).to(torch.float8_e4m3fn)
    whole = torch.tensor([1234.567])
    blocks = torch.randint(0, 256, (2, 6, 3, 16), generator=generator, dtype=torch.uint8)
    exponents = torch.randint(110, 130, (2, 6, 3), generator=generator, dtype=torch.uint8)
    experts = convert_moe_packed_tensors(blocks, exponents, dtype=torch.float32).transpose(1, 2).contiguous()
    # Of several tools, so without a method.
    return {}, {
        "mx.weight_packed": codes, "mx.weight_scale": powers, "mx.weight_shape": torch.tensor([16, 96]),
        "golden.mx.weight": values * torch.exp2(powers.float() - 127).repeat_interleave(32, 1),
        "nv.weight_packed": codes.clone(), "nv.weight_scale": scales, "nv.weight_global_scale": whole,
        "golden.nv.weight": values * (scales.float() / whole).repeat_interleave(16, 1),
        "opt.weight": codes.clone(), "opt.weight_scale": scales.clone(), "opt.weight_scale_2": 1 / whole[0],
        "golden.opt.weight": values * (scales.float() * (1 / whole)).repeat_interleave(16, 1),
        "experts.gate_up_proj_blocks": blocks, "experts.gate_up_proj_scales": exponents,
        "golden.experts.gate_up_proj": experts,
    }


def hqq():
    from hqq.core.quantize import Quantizer

    tensors = {}
    for bits in (8, 4, 3, 2, 1):
        for axis in (1, 0):
            name = f"bits{bits}_axis{axis}"
            codes, meta = Quantizer.quantize(
                random(32, 128), nbits=bits, group_size=64, axis=axis, optimize=False, device="cpu",
                compute_dtype=torch.float32)
            for key in ("scale", "zero"):
                meta[key] = meta[key].half().float() if axis == 0 else meta[key].half()
                tensors[f"{name}.{key}"] = meta[key].contiguous()
            tensors |= {
                f"{name}.W_q": codes.contiguous(), f"{name}.nbits": torch.tensor(bits), f"{name}.axis": torch.tensor(axis),
                f"{name}.shape": torch.tensor([32, 128]), f"{name}.group_size": torch.tensor(64),
            }
            meta = meta | {"scale": meta["scale"].double(), "zero": meta["zero"].double(), "compute_dtype": torch.float64}
            # The exact number, rounded once.
            tensors[f"golden.{name}.weight"] = Quantizer.dequantize(codes, meta).double().float().contiguous()
    # What the tool stores beside a layer: the packing as a text, and flags.
    tensors |= {
        "bits4_axis1.packing": torch.tensor(list(b"4bit_u8"), dtype=torch.uint8), "bits4_axis1.quant_scale": torch.tensor(0),
        "bits4_axis1.quant_zero": torch.tensor(0), "bits4_axis1.channel_wise": torch.tensor(1),
    }
    # Groups across the ends of rows, and scales that no product with a zero point has exactly.
    for axis in (1, 0):
        name = f"across_axis{axis}"
        codes, meta = Quantizer.quantize(
            random(32, 80), nbits=4, group_size=64, axis=axis, optimize=False, device="cpu", compute_dtype=torch.float32)
        for kind, scale_type in (("", torch.float32), ("_bfloat16", torch.bfloat16)):
            own = meta | {key: meta[key].to(scale_type) for key in ("scale", "zero")}
            tensors |= {
                f"{name}{kind}.W_q": codes.clone(), f"{name}{kind}.nbits": torch.tensor(4),
                f"{name}{kind}.axis": torch.tensor(axis), f"{name}{kind}.shape": torch.tensor([32, 80]),
                f"{name}{kind}.group_size": torch.tensor(64), f"{name}{kind}.scale": own["scale"].contiguous(),
                f"{name}{kind}.zero": own["zero"].contiguous(),
            }
            own |= {key: own[key].float() for key in ("scale", "zero")}
            tensors[f"golden.{name}{kind}.weight"] = Quantizer.dequantize(codes, own).float().contiguous()
    return {"quant_method": "hqq"}, tensors


def quanto():
    import optimum.quanto as library

    layer = torch.nn.Linear(64, 32, bias=False)
    layer.weight.data = random(32, 64)
    module = torch.nn.Sequential(layer)
    library.quantize(module, weights=library.qint8)
    library.freeze(module)
    tensors = {f"{key.replace('0.', 'layer.', 1)}": value.contiguous() for key, value in module.state_dict().items()
               if key.endswith(("_data", "_scale"))}
    return {"quant_method": "quanto"}, tensors | {"golden.layer.weight": module[0].weight.dequantize().float().contiguous()}


def torchao():
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    from torchao.quantization import Float8WeightOnlyConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerGroup, quantize_

    layers = {
        "int8": Int8WeightOnlyConfig(version=2), "float8": Float8WeightOnlyConfig(), "scaled": Int8WeightOnlyConfig(version=2),
        "groups": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))}
    weights, tensors = {}, {}
    for name, config in layers.items():
        module = torch.nn.Sequential()
        module.add_module(name, torch.nn.Linear(64, 32, bias=False))
        module[0].weight.data = random(32, 64)
        quantize_(module, config)
        weight = module[0].weight.data
        if name == "scaled":
            # As SmoothQuant and AWQ do; static scales of activations beside it.
            weight.act_pre_scale = torch.rand(64, generator=torch.Generator().manual_seed(1)) + 0.5
            weight.act_quant_scale = torch.tensor([[0.25]])
            # The product with plain activations, column by column.
            tensors["golden.scaled.weight"] = torch.nn.functional.linear(torch.eye(64), weight).T.contiguous()
        else:
            tensors[f"golden.{name}.weight"] = weight.dequantize().float().contiguous()
        weights[f"{name}.weight"] = weight
    parts, metadata = flatten_tensor_state_dict(weights)
    return {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnlyConfig", "_version": 2}}}, tensors | {
        key: value.contiguous() for key, value in parts.items()}, metadata


# The libraries that made the codes, or the values, of a scheme; their versions are in the metadata of its file.
LIBRARIES = {
    "bitsandbytes": ["bitsandbytes"], "packed": ["compressed-tensors"], "float4": ["transformers"], "hqq": ["hqq"],
    "quanto": ["optimum-quanto"], "torchao": ["torchao"], "mlx": ["mlx"], "float8_blocks": ["transformers"],
}
SCHEMES = [gptq, gptq_v2, awq, bitsandbytes, packed, blocks, float8, float8_blocks, float4, hqq, quanto, torchao, mlx]

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        if sys.argv[1:] and scheme.__name__ not in sys.argv[1:]:
            continue
        config, tensors, *more = scheme()
        libraries = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES.get(scheme.__name__, []) + ["torch"]]
        metadata = {
            "format": "pt", "config": json.dumps({"quantization" if scheme is mlx else "quantization_config": config}), "made_by": ", ".join(libraries),
        } | (more[0] if more else {})
        path = FOLDER / f"{scheme.__name__}.safetensors"
        safetensors.torch.save_file(tensors, path, metadata=metadata)
        path.chmod(0o644)
        print(scheme.__name__, len(tensors))
