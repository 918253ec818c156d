"""Makes Tests/Fixtures/ggml_blocks.safetensors and Tests/Fixtures/gguf: what ggml stores of weights, and a model that gguf-py wrote.

usage: fixtures_gguf.py        (wants gguf, numpy, safetensors, torch, transformers, and libggml, which scripts/bench/llama.sh builds)
`ggml_blocks.safetensors` holds `values` [rows, 256] in float32, and for each type its blocks `TYPE` U8[rows, bytes], made by
`ggml_quantize_chunk` without an importance matrix (for types that want one: of ones), and `TYPE weighted`, made with `importance` [256],
where that makes a difference.
`gguf/llama_mixed.gguf` is `llama_bfloat16` with a matrix of each type whose blocks have 32 weights, and others in F32, F16 and BF16;
`gguf/llama_wide.gguf` has rows of 256 random weights, in each type whose blocks have so many. Their `.golden.safetensors` hold tokens and
the logits of transformers for the weights that gguf-py decodes.
"""

import ctypes
import itertools
import pathlib

import gguf
import numpy
import safetensors.numpy
import safetensors.torch
import torch
import transformers

import fixtures

LIBRARY = pathlib.Path(__file__).resolve().parent.parent / ".build/llama/0.3.36/bin/libggml-base.so"
TYPES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "IQ3_S", "IQ3_XXS",
         "IQ2_S", "IQ2_XS", "IQ2_XXS", "TQ1_0", "TQ2_0")
# The types that ggml quantizes without regard to an importance matrix.
PLAIN = ("Q8_0", "TQ1_0", "TQ2_0")
# The types that it quantizes with one only: without, accelc has the bytes for an importance of ones.
WEIGHTED = ("IQ2_XS", "IQ2_XXS")
ggml = ctypes.CDLL(str(LIBRARY))
ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
ggml.ggml_quantize_chunk.argtypes = [
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]


def quantized(values, kind, importance=None):
    values = numpy.ascontiguousarray(values, numpy.float32)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    rows, columns = values.shape
    blocks = numpy.zeros((rows, columns // elements * size), numpy.uint8)
    ggml.ggml_quantize_chunk(int(kind), values.ctypes.data, blocks.ctypes.data, 0, rows, columns,
                             None if importance is None else importance.ctypes.data)
    return blocks


def rows():
    """Rows of 256 weights: usual ones, and those in which searches are odd."""
    random = numpy.random.default_rng(17)
    normal = random.standard_normal(256)
    outlier = normal * 0.02
    outlier[[5, 70, 127, 200]] = 9, -7, 11, 3
    blocks = normal.copy().reshape(16, 16)
    blocks[::3] = 0
    blocks[1::5] = 0.25
    return numpy.stack([
        normal, normal * 0.02, numpy.abs(normal), -numpy.abs(normal) - 0.25, outlier, ((37 * numpy.arange(256)) % 101 - 50) / 32,
        random.standard_t(2, 256) * 0.1, numpy.zeros(256), numpy.full(256, 0.75), numpy.full(256, -3e-8), normal * 1e-7, normal * 1e-16,
        normal * 1e-39, normal * 5000, numpy.sign(normal) * 2, numpy.where(normal > 0.5, normal, 0), blocks.reshape(256),
        normal * numpy.exp2(random.integers(-30, 8, 256)), numpy.round(normal * 4), random.standard_normal(256) + 3,
    ]).astype(numpy.float32)


def importance():
    """Mean squares of activations: of very different sizes, some of them zeros, also all of a block."""
    random = numpy.random.default_rng(18)
    squares = random.standard_normal(256) ** 2 * numpy.exp(random.standard_normal(256))
    squares[random.integers(0, 256, 20)] = 0
    squares[96:128] = 0
    return squares.astype(numpy.float32)


def blocks():
    tensors = {"values": rows(), "importance": importance()}
    for name in TYPES:
        ones = numpy.ones(256, numpy.float32) if name in WEIGHTED else None
        tensors[name.lower()] = quantized(rows(), gguf.GGMLQuantizationType[name], ones)
        if name not in PLAIN:
            tensors[f"{name.lower()} weighted"] = quantized(rows(), gguf.GGMLQuantizationType[name], importance())
    safetensors.numpy.save_file(tensors, fixtures.FIXTURES / "ggml_blocks.safetensors")


NAMES = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "gate_proj": "ffn_gate", "up_proj": "ffn_up",
         "down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
OUTER = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
KINDS = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "F32", "F16", "BF16")
WIDE = [name for name in TYPES if gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][0] == 256]
NARROW = ("MXFP4", "Q8_0", "IQ4_NL")


def renamed(name):
    if name in OUTER:
        return OUTER[name]
    _, _, layer, *_, role, _ = name.split(".")
    return f"blk.{layer}.{NAMES[role]}.weight"


def interleaved(matrix, heads):
    return matrix.reshape(heads, 2, -1, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def in_halves(matrix, heads):
    return matrix.reshape(heads, -1, 2, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def mixed():
    """`llama_bfloat16`, its tokens, and a type for each matrix in turn."""
    source = fixtures.FIXTURES / "llama_bfloat16"
    tensors = {name: tensor.float().numpy() for name, tensor in safetensors.torch.load_file(source / "model.safetensors").items()}
    kinds = itertools.cycle(KINDS)
    # Every tensor takes a turn, as the file was first made.
    chosen = {name: next(kinds) for name in sorted(tensors)}
    tokens = safetensors.numpy.load_file(source / "golden.safetensors")["in.input_ids"]
    model("llama_mixed", transformers.AutoConfig.from_pretrained(source), tensors, chosen, tokens)


def wide():
    """Random weights in rows of 256, but for the matrices after the heads and the inner layers, which have rows of 32."""
    config = transformers.LlamaConfig(
        vocab_size=16, hidden_size=256, intermediate_size=32, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1,
        head_dim=16, max_position_embeddings=32, rms_norm_eps=1e-5)
    random = numpy.random.default_rng(19)
    shapes = {name: tuple(tensor.shape) for name, tensor in transformers.AutoModelForCausalLM.from_config(config).state_dict().items()}
    tensors = {name: (random.standard_normal(shape) * (0.1 if len(shape) > 1 else 0.2) + (len(shape) == 1)).astype(numpy.float32)
               for name, shape in sorted(shapes.items())}
    kinds, narrow = itertools.cycle(WIDE), itertools.cycle(NARROW)
    chosen = {name: next(kinds if shape[-1] == 256 else narrow) for name, shape in sorted(shapes.items()) if len(shape) > 1}
    assert set(chosen.values()) == {*WIDE, *NARROW}
    model("llama_wide", config, tensors, chosen, random.integers(0, 16, (1, 7)))


def model(title, config, tensors, kinds, tokens):
    """Writes a model with the type of each matrix, and its golden."""
    folder = fixtures.FIXTURES / "gguf"
    folder.mkdir(exist_ok=True)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    file = gguf.GGUFWriter(folder / f"{title}.gguf", "llama")
    file.add_context_length(config.max_position_embeddings)
    file.add_embedding_length(config.hidden_size)
    file.add_block_count(config.num_hidden_layers)
    file.add_feed_forward_length(config.intermediate_size)
    file.add_head_count(config.num_attention_heads)
    file.add_head_count_kv(config.num_key_value_heads)
    file.add_layer_norm_rms_eps(config.rms_norm_eps)
    file.add_rope_freq_base(config.rope_parameters["rope_theta"])
    file.add_vocab_size(config.vocab_size)
    file.add_tokenizer_model("none")
    if config.head_dim * config.num_attention_heads != config.hidden_size:
        file.add_key_length(config.head_dim)
        file.add_value_length(config.head_dim)
        file.add_rope_dimension_count(config.head_dim)
    decoded = {}
    for name, values in sorted(tensors.items()):
        if values.ndim == 1:
            file.add_tensor(renamed(name), values)
            decoded[name] = values
            continue
        count = next((count for role, count in heads.items() if role in name), None)
        kind = gguf.GGMLQuantizationType[kinds[name]]
        own = interleaved(values, count) if count else values
        ones = numpy.ones(values.shape[1], numpy.float32) if kinds[name] in WEIGHTED else None
        coded = quantized(own, kind, ones) if gguf.GGML_QUANT_SIZES[kind][0] > 1 else gguf.quants.quantize(own, kind)
        file.add_tensor(renamed(name), coded, raw_dtype=kind)
        own = gguf.dequantize(coded, kind).reshape(values.shape)
        decoded[name] = in_halves(own, count) if count else own
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    network = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    network.load_state_dict({name: torch.tensor(numpy.ascontiguousarray(values)) for name, values in decoded.items()})
    with torch.no_grad():
        logits = network(torch.tensor(tokens), use_cache=False).logits.numpy()
    safetensors.numpy.save_file({"in.input_ids": tokens, "out.logits": logits}, folder / f"{title}.golden.safetensors")


if __name__ == "__main__":
    blocks()
    mixed()
    wide()
