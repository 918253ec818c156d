"""Makes Tests/Fixtures/mlx_*.safetensors and Tests/Fixtures/mlx: what MLX stores of weights, and models that mlx-lm wrote.

usage: fixtures_mlx.py        (wants mlx[cpu], mlx-lm, mlx-whisper, torch, transformers; the bytes depend on their versions only)
`mlx_affine.safetensors` holds `T.values` [rows, 128] for T of f32, f16 and bf16, and for each number of bits B and each group
size G what `mx.quantize` gives on the CPU: `T.B.G.codes`, `T.B.G.scales` and `T.B.G.biases`.
`mlx_floats.safetensors` holds the same values and some in the middle between two numbers, and for each mode M of mxfp4, mxfp8 and
nvfp4 `T.M.codes` and `T.M.scales`.
`mlx/llama_affine` is `llama_bfloat16`, quantized and saved by mlx-lm: 4 bits in groups of 32, but for a head of 8 bits in groups
of 64 and a layer that stays plain. `mlx/llama_floats` has mxfp4, a head of mxfp8, and nvfp4 in one layer.
`mlx/gpt2` is a small model of transformers, `mlx/gpt2_affine` the same, quantized and saved by mlx-lm. `mlx/whisper` is one, too, and
`mlx/whisper_affine` the same in the layout of mlx-examples, quantized by mlx and loaded by mlx-whisper, with alignment heads.
`NAME.golden.safetensors` holds inputs and the logits of mlx-lm or mlx-whisper, computed in float32.
"""

import json
import re
import shutil

import mlx.core as mx
import mlx.nn
import mlx.utils
import mlx_lm.utils
import numpy
import safetensors.numpy
import torch
import transformers

import fixtures
from runtimes import whisper_mlx

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


def floats():
    tensors = {}
    middles = numpy.stack([(numpy.arange(128) - 64) / step for step in (8, 32, 6, 0.25)])
    for name, kind in TYPES.items():
        values = mx.array(numpy.concatenate([rows(), middles]).astype(numpy.float32)).astype(kind)
        tensors[f"{name}.values"] = values
        for mode in ("mxfp4", "mxfp8", "nvfp4"):
            for part, tensor in zip(("codes", "scales"), mx.quantize(values, mode=mode)):
                tensors[f"{name}.{mode}.{part}"] = tensor
    mx.save_safetensors(str(fixtures.FIXTURES / "mlx_floats.safetensors"), tensors, metadata={"format": "mlx"})


def scheme(mode, bits, group):
    return {"bits": bits, "group_size": group, "mode": mode}


def quantized(name, usual, others):
    """Saves `llama_bfloat16` as mlx-lm quantizes it: `others` has schemes by the names of layers, False for a plain one."""
    folder = fixtures.FIXTURES / "mlx" / name
    shutil.rmtree(folder, ignore_errors=True)
    source = fixtures.FIXTURES / "llama_bfloat16"
    config = json.loads((source / "config.json").read_text())
    config["rope_theta"] = config["rope_parameters"]["rope_theta"]
    network, _ = mlx_lm.utils.load_model(source, model_config={"rope_theta": config["rope_theta"]})
    network, config = mlx_lm.utils.quantize_model(
        network, config, usual["group_size"], usual["bits"], mode=usual["mode"],
        quant_predicate=lambda path, module: others.get(path, True))
    config["quantization"] |= others
    mlx_lm.utils.save_model(folder, network)
    mlx_lm.utils.save_config(config, folder / "config.json")
    tokens = mx.array(safetensors.numpy.load_file(source / "golden.safetensors")["in.input_ids"])
    network, _ = mlx_lm.utils.load_model(folder)
    network.set_dtype(mx.float32)
    golden = {"in.input_ids": tokens, "out.logits": network(tokens.astype(mx.int32))}
    mx.save_safetensors(str(folder) + ".golden.safetensors", golden, metadata={"format": "mlx"})


def made(name, model):
    """Saves a model of transformers with weights of usual sizes."""
    torch.manual_seed(11)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "encoder.embed_positions" not in key:
                parameter.add_(0.2 * torch.randn_like(parameter))
    folder = fixtures.FIXTURES / "mlx" / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    for other in folder.iterdir():
        if other.name not in ("config.json", "model.safetensors", "generation_config.json"):
            other.unlink()
    return folder


def gpt2():
    config = transformers.GPT2Config(
        n_embd=32, n_head=4, n_layer=2, n_positions=16, vocab_size=47, bos_token_id=1, eos_token_id=2)
    source = made("gpt2", transformers.GPT2LMHeadModel(config))
    # The names of the hub's models, which are those that mlx-lm reads.
    tensors = safetensors.numpy.load_file(source / "model.safetensors")
    tensors = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
    safetensors.numpy.save_file(tensors, source / "model.safetensors", metadata={"format": "pt"})
    folder = fixtures.FIXTURES / "mlx/gpt2_affine"
    shutil.rmtree(folder, ignore_errors=True)
    config = json.loads((source / "config.json").read_text()) | {"n_ctx": 16}
    network, _ = mlx_lm.utils.load_model(source, model_config={"n_ctx": 16})
    tokens = numpy.random.default_rng(5).integers(0, 47, (2, 9))
    golden = {"in.input_ids": tokens, "plain.logits": numpy.array(network(mx.array(tokens, dtype=mx.int32)))}
    network, config = mlx_lm.utils.quantize_model(network, config, 32, 4)
    mlx_lm.utils.save_model(folder, network)
    mlx_lm.utils.save_config(config, folder / "config.json")
    network, _ = mlx_lm.utils.load_model(folder)
    golden["out.logits"] = numpy.array(network(mx.array(tokens, dtype=mx.int32)))
    safetensors.numpy.save_file(golden, str(folder) + ".golden.safetensors")


# The names of transformers, and those of mlx-examples.
WHISPER = [
    (r"^model\.", ""), (r"\.layers\.", ".blocks."), (r"encoder\.layer_norm", "encoder.ln_post"),
    (r"decoder\.layer_norm", "decoder.ln"), (r"embed_tokens", "token_embedding"),
    (r"embed_positions\.weight", "positional_embedding"), (r"final_layer_norm", "mlp_ln"),
    (r"encoder_attn_layer_norm", "cross_attn_ln"), (r"self_attn_layer_norm", "attn_ln"), (r"encoder_attn", "cross_attn"),
    (r"self_attn", "attn"), (r"q_proj", "query"), (r"k_proj", "key"), (r"v_proj", "value"), (r"out_proj", "out"),
    (r"\.fc", ".mlp"),
]


def whisper():
    config = transformers.WhisperConfig(
        d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=4,
        encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=47, num_mel_bins=8, max_source_positions=10,
        max_target_positions=12, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3)
    model = transformers.WhisperForConditionalGeneration(config)
    model.generation_config.alignment_heads = [[0, 3], [1, 1]]
    source = made("whisper", model)
    weights = {}
    for name, tensor in safetensors.numpy.load_file(source / "model.safetensors").items():
        for pattern, word in WHISPER:
            name = re.sub(pattern, word, name)
        if name != "encoder.positional_embedding":
            weights[name] = mx.array(tensor.transpose(0, 2, 1) if tensor.ndim == 3 else tensor)
    sizes = dict(
        n_mels=8, n_audio_ctx=10, n_audio_state=32, n_audio_head=2, n_audio_layer=1, n_vocab=47, n_text_ctx=12,
        n_text_state=32, n_text_head=4, n_text_layer=2)
    package = whisper_mlx.classes()
    network = package.whisper.Whisper(package.whisper.ModelDimensions(**sizes), mx.float32)
    network.update(mlx.utils.tree_unflatten(list(weights.items())))
    network.set_alignment_heads(numpy.array([[0, 3], [1, 1]]))
    random = numpy.random.default_rng(6)
    mel, tokens = random.standard_normal((1, 20, 8)).astype(numpy.float32), random.integers(0, 47, (1, 7))
    golden = {"in.mel": mel, "in.tokens": tokens}
    golden["plain.logits"] = numpy.array(network(mx.array(mel), mx.array(tokens, dtype=mx.int32)))
    mlx.nn.quantize(network, 32, 4)
    folder = fixtures.FIXTURES / "mlx/whisper_affine"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mx.save_safetensors(
        str(folder / "weights.safetensors"), dict(mlx.utils.tree_flatten(network.parameters())), metadata={"format": "mlx"})
    block = {"group_size": 32, "bits": 4}
    (folder / "config.json").write_text(json.dumps(sizes | {"model_type": "whisper", "quantization": block}, indent=4) + "\n")
    network = package.load_models.load_model(str(folder), mx.float32)
    golden["out.logits"] = numpy.array(network(mx.array(mel), mx.array(tokens, dtype=mx.int32)))
    safetensors.numpy.save_file(golden, str(folder) + ".golden.safetensors")


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    affine()
    floats()
    quantized(
        "llama_affine", scheme("affine", 4, 32),
        {"lm_head": scheme("affine", 8, 64), "model.layers.1.self_attn.k_proj": False})
    quantized(
        "llama_floats", scheme("mxfp4", 4, 32),
        {"lm_head": scheme("mxfp8", 8, 32), "model.layers.1.mlp.up_proj": scheme("nvfp4", 4, 16)})
    gpt2()
    whisper()
