"""Makes Tests/Fixtures/quantized: layers as other tools store quantized weights, and the values that their tools give them.

usage: fixtures_quantized.py [SCHEME...]
       (wants torch, numpy, safetensors, transformers, compressed-tensors, bitsandbytes, hqq, optimum-quanto, torchao)
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
    return {"quant_method": "gptq", "bits": 4}, tensors


def gptq_v2():
    tensors = {}
    for bits in (2, 3, 4, 8):
        gptq_layer(tensors, f"bits{bits}", bits, 32, 2, seed=bits + 20)
    return {"quant_method": "gptq", "bits": 4, "checkpoint_format": "gptq_v2"}, tensors


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
    return {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm"}, {
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
    return {"quant_method": "bitsandbytes"}, tensors


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
    return {"quant_method": "compressed-tensors", "format": "mixed-precision"}, tensors


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
    return {"quant_method": "fp8", "weight_block_size": [128, 128]}, tensors


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
    return {"quant_method": "compressed-tensors"}, {
        "mx.weight_packed": codes, "mx.weight_scale": powers,
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
    codes = (random(32, 64) * 300).to(torch.int8)
    scales = random(32, 1).abs() + 0.001
    floats = (random(32, 64) * 100).to(torch.float8_e4m3fn)
    groups, zeros = random(32, 2).abs().bfloat16(), torch.randint(-8, 8, (32, 2), dtype=torch.int8)
    return {"quant_method": "torchao"}, {
        "int8._weight_qdata": codes, "int8._weight_scale": scales,
        "int8._weight_zero_point": torch.zeros(32, 1, dtype=torch.int8), "golden.int8.weight": codes.float() * scales,
        "float8._weight_qdata": floats, "float8._weight_scale": scales.clone(), "golden.float8.weight": floats.float() * scales,
        "groups._weight_qdata": codes.clone(), "groups._weight_scale": groups, "groups._weight_zero_point": zeros,
        "golden.groups.weight": (codes.float() - zeros.float().repeat_interleave(32, 1))
        * groups.float().repeat_interleave(32, 1),
    }


# The libraries that made the codes, or the values, of a scheme; their versions are in the metadata of its file.
LIBRARIES = {
    "bitsandbytes": ["bitsandbytes"], "packed": ["compressed-tensors"], "float4": ["transformers"], "hqq": ["hqq"],
    "quanto": ["optimum-quanto"],
}
SCHEMES = [gptq, gptq_v2, awq, bitsandbytes, packed, float8, float4, hqq, quanto, torchao]

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        if sys.argv[1:] and scheme.__name__ not in sys.argv[1:]:
            continue
        config, tensors = scheme()
        libraries = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES.get(scheme.__name__, []) + ["torch"]]
        metadata = {
            "format": "pt", "config": json.dumps({"quantization_config": config}), "made_by": ", ".join(libraries),
        }
        path = FOLDER / f"{scheme.__name__}.safetensors"
        safetensors.torch.save_file(tensors, path, metadata=metadata)
        path.chmod(0o644)
        print(scheme.__name__, len(tensors))
