"""Makes Tests/Fixtures/mlx_affine.safetensors and Tests/Fixtures/mlx: what MLX stores of weights, and a model that mlx-lm wrote.

usage: fixtures_mlx.py        (wants mlx[cpu], mlx-lm, numpy, safetensors; the bytes depend on their versions only)
`mlx_affine.safetensors` holds `T.values` [rows, 128] for T of f32, f16 and bf16, and for each number of bits B and each group
size G what `mx.quantize` gives on the CPU: `T.B.G.codes`, `T.B.G.scales` and `T.B.G.biases`.
`mlx/llama_affine` is `llama_bfloat16`, quantized and saved by mlx-lm: 4 bits in groups of 32, but for a head of 8 bits in groups
of 64 and a layer that stays plain. `llama_affine.golden.safetensors` holds tokens and the logits of mlx-lm, computed in float32.
"""

import json
import shutil

import mlx.core as mx
import mlx.utils
import mlx_lm.utils
import numpy
import safetensors.numpy

import fixtures

TYPES = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}
BITS, GROUPS = (2, 3, 4, 5, 6, 8), (32, 64, 128)


def rows():
    """Rows of 128 weights: usual ones, and those in which grids are odd."""
    random = numpy.random.default_rng(17)
    normal = random.standard_normal(128)
    outlier = normal * 0.02
    outlier[[5, 70, 127]] = 9, -7, 11
    steps = (numpy.arange(128) - 40) / 16
    tails = random.standard_t(2, 128) * 0.1
    return numpy.stack([
        normal, normal * 0.02, numpy.abs(normal), -numpy.abs(normal) - 0.25, outlier, steps, steps[::-1] * 1.5, tails,
        numpy.zeros(128), numpy.full(128, 0.75), numpy.full(128, -3e-8), normal * 1e-7, normal * 1e-5, normal * 9000,
        numpy.sign(normal) * 2, numpy.where(normal > 0.5, normal, 0),
    ])


def affine():
    tensors = {}
    for name, kind in TYPES.items():
        values = mx.array(rows().astype(numpy.float32)).astype(kind)
        tensors[f"{name}.values"] = values
        for bits in BITS:
            for group in GROUPS:
                parts = mx.quantize(values, group_size=group, bits=bits, mode="affine")
                for part, tensor in zip(("codes", "scales", "biases"), parts):
                    tensors[f"{name}.{bits}.{group}.{part}"] = tensor
    mx.save_safetensors(str(fixtures.FIXTURES / "mlx_affine.safetensors"), tensors, metadata={"format": "mlx"})


def predicate(path, module):
    if path == "lm_head":
        return {"bits": 8, "group_size": 64, "mode": "affine"}
    return path != "model.layers.1.self_attn.k_proj"


def model():
    folder = fixtures.FIXTURES / "mlx/llama_affine"
    shutil.rmtree(folder, ignore_errors=True)
    source = fixtures.FIXTURES / "llama_bfloat16"
    config = json.loads((source / "config.json").read_text())
    config["rope_theta"] = config["rope_parameters"]["rope_theta"]
    network, _ = mlx_lm.utils.load_model(source, model_config={"rope_theta": config["rope_theta"]})
    network, config = mlx_lm.utils.quantize_model(network, config, 32, 4, quant_predicate=predicate)
    config["quantization"]["model.layers.1.self_attn.k_proj"] = False
    mlx_lm.utils.save_model(folder, network)
    mlx_lm.utils.save_config(config, folder / "config.json")
    tokens = mx.array(safetensors.numpy.load_file(source / "golden.safetensors")["in.input_ids"])
    network, _ = mlx_lm.utils.load_model(folder)
    network.set_dtype(mx.float32)
    golden = {"in.input_ids": tokens, "out.logits": network(tokens.astype(mx.int32))}
    mx.save_safetensors(str(fixtures.FIXTURES / "mlx/llama_affine.golden.safetensors"), golden, metadata={"format": "mlx"})


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    affine()
    model()
