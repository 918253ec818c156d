"""Makes quantized checkpoints of real size with holes for codes, and measures time and private memory of inspect and convert.

usage: source_sizes.py FOLDER [MODEL...]     (default: all; FOLDER needs about 20 GB for packages, which are deleted)

Bars: inspect takes at most 0.5 s and 150 MB; a conversion as much private memory as the largest tensor in float32, and 200 MB. A model that is
too large for a package is converted with fewer layers of the same shapes. Private memory is sampled and therefore Linux only (/proc).
"""

import json
import math
import pathlib
import shutil
import struct
import sys

from real_sizes import TOOL, measured

LLAMA_70B = dict(
    architectures=["LlamaForCausalLM"], model_type="llama", torch_dtype="bfloat16", hidden_size=8192, intermediate_size=28672,
    num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8, vocab_size=128256, hidden_act="silu",
    max_position_embeddings=131072, rope_theta=500000.0, rms_norm_eps=1e-5, tie_word_embeddings=False, attention_bias=False,
    mlp_bias=False, bos_token_id=128000, eos_token_id=128001,
    rope_scaling=dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192, rope_type="llama3"))
QWEN3_32B = dict(
    architectures=["Qwen3ForCausalLM"], model_type="qwen3", torch_dtype="bfloat16", hidden_size=5120, intermediate_size=25600,
    num_hidden_layers=64, num_attention_heads=64, num_key_value_heads=8, head_dim=128, vocab_size=151936, hidden_act="silu",
    max_position_embeddings=40960, rope_theta=1000000, rope_scaling=None, rms_norm_eps=1e-6, tie_word_embeddings=False,
    attention_bias=False, sliding_window=None, use_sliding_window=False, bos_token_id=151643, eos_token_id=151645)
QWEN3_14B = dict(QWEN3_32B, intermediate_size=17408, num_hidden_layers=40, num_attention_heads=40)

FP8_CHANNELS = dict(
    quant_method="compressed-tensors", format="float-quantized", quantization_status="compressed", ignore=["lm_head"],
    config_groups=dict(group_0=dict(
        targets=["Linear"], output_activations=None,
        weights=dict(num_bits=8, type="float", strategy="channel", symmetric=True, dynamic=False),
        input_activations=dict(num_bits=8, type="float", strategy="token", symmetric=True, dynamic=True))))
FP8_BLOCKS = dict(quant_method="fp8", activation_scheme="dynamic", fmt="e4m3", weight_block_size=[128, 128])
GPTQ = dict(quant_method="gptq", bits=4, group_size=128, desc_act=False, sym=True, checkpoint_format="gptq")
AWQ = dict(quant_method="awq", bits=4, group_size=128, version="gemm", zero_point=True)
MLX = dict(group_size=64, bits=4)

WIDTHS = dict(F32=4, BF16=2, F16=2, I32=4, U32=4, F8_E4M3=1)


def layers(config):
    """Name and shape of each tensor of the original model, and whether it is a product's matrix."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    head = config.get("head_dim", width // config["num_attention_heads"])
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    yield "model.embed_tokens", (config["vocab_size"], width), False
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{name}.{norm}", (width,), False
        if config["model_type"] == "qwen3":
            for norm in ("q_norm", "k_norm"):
                yield f"{name}.self_attn.{norm}", (head,), False
        for role, rows, columns in (("q", queries, width), ("k", keys, width), ("v", keys, width), ("o", width, queries)):
            yield f"{name}.self_attn.{role}_proj", (rows, columns), True
        for role, rows, columns in (("gate", inner, width), ("up", inner, width), ("down", width, inner)):
            yield f"{name}.mlp.{role}_proj", (rows, columns), True
    yield "model.norm", (width,), False
    yield "lm_head", (config["vocab_size"], width), False


def fill(type, count, value):
    """Equal numbers; codes are holes."""
    if value is None:
        return None
    if type in ("BF16", "F16"):
        return (struct.pack("<f", value)[2:] if type == "BF16" else struct.pack("<e", value)) * count
    return struct.pack("<I", value) * count


def tensor(name, type, shape, value=None):
    # The head is no copy of the embeddings, as that of no such model is.
    data = b"\x01" if name.startswith("lm_head.weight") else fill(type, math.prod(shape), value)
    return name, type, shape, data


def plain(config):
    for name, shape, _ in layers(config):
        yield tensor(f"{name}.weight", "BF16", shape)


def float8(scale, scale_shape):
    def tensors(config):
        for name, shape, is_product in layers(config):
            yield tensor(f"{name}.weight", "F8_E4M3" if is_product else "BF16", shape)
            if is_product:
                yield tensor(f"{name}.{scale}", "BF16", scale_shape(*shape), 1.0)
    return tensors


def gptq(config):
    for name, shape, is_product in layers(config):
        if not is_product:
            yield tensor(f"{name}.weight", "BF16", shape)
            continue
        rows, columns = shape
        yield tensor(f"{name}.qweight", "I32", (columns // 8, rows))
        yield tensor(f"{name}.qzeros", "I32", (columns // 128, rows // 8), 0x77777777)
        yield tensor(f"{name}.scales", "F16", (columns // 128, rows), 1.0)
        groups = b"".join(struct.pack("<I", group) * 128 for group in range(columns // 128))
        yield f"{name}.g_idx", "I32", (columns,), groups


def awq(config):
    for name, shape, is_product in layers(config):
        if not is_product:
            yield tensor(f"{name}.weight", "BF16", shape)
            continue
        rows, columns = shape
        yield tensor(f"{name}.qweight", "I32", (columns, rows // 8))
        yield tensor(f"{name}.qzeros", "I32", (columns // 128, rows // 8), 0x87654321)
        yield tensor(f"{name}.scales", "F16", (columns // 128, rows), 1.0)


def mlx(config):
    for name, shape, _ in layers(config):
        if len(shape) == 1:
            yield tensor(f"{name}.weight", "BF16", shape)
            continue
        rows, columns = shape
        yield tensor(f"{name}.weight", "U32", (rows, columns // 8))
        yield tensor(f"{name}.scales", "BF16", (rows, columns // 64), 1.0)
        yield tensor(f"{name}.biases", "BF16", (rows, columns // 64), 1.0)


# name: configuration, the member of config.json, its value, tensors, and the layers of a model that is converted
MODELS = {
    "llama-70b-fp8": (LLAMA_70B, "quantization_config", FP8_CHANNELS, float8("weight_scale", lambda rows, columns: (rows, 1)), 2),
    "qwen3-32b-fp8": (
        QWEN3_32B, "quantization_config", FP8_BLOCKS,
        float8("weight_scale_inv", lambda rows, columns: (-(-rows // 128), -(-columns // 128))), 4),
    "qwen3-32b-gptq": (QWEN3_32B, "quantization_config", GPTQ, gptq, 4),
    "qwen3-32b-awq": (QWEN3_32B, "quantization_config", AWQ, awq, 4),
    "qwen3-14b-mlx": (QWEN3_14B, "quantization", MLX, mlx, 4),
}
SHARD = 5 << 30


def make(folder, config, key, quantization, tensors):
    """A checkpoint in shards with an index, as the hub has it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shards, room = [], 0
    for name, type, shape, data in tensors(config):
        size = math.prod(shape) * WIDTHS[type]
        if size > room or not shards:
            shards.append([])
            room = SHARD
        shards[-1].append((name, type, shape, data, size))
        room -= size
    files = {}
    for index, shard in enumerate(shards):
        path = folder / f"model-{index + 1:05}-of-{len(shards):05}.safetensors"
        header, offset = {"__metadata__": {"format": "pt"}}, 0
        for name, type, shape, _, size in shard:
            header[name] = {"dtype": type, "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name, _, _, data, _ in shard:
                if data is not None:
                    file.seek(8 + len(text) + header[name]["data_offsets"][0])
                    file.write(data)
            file.truncate(8 + len(text) + offset)
        files |= {name: path.name for name, *_ in shard}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))
    (folder / "config.json").write_text(json.dumps(config | {key: quantization}, indent=2) + "\n")


def row(name, command, seconds, peak, bars):
    limits = [f"{value} {unit}" for value, bar, unit in bars if value > bar]
    print(f"| {name} | {command} | {seconds:.2f} s | {peak / 1e6:.0f} MB | {'EXCEEDED ' + ', '.join(limits) if limits else 'ok'} |", flush=True)
    return bool(limits)


def main(folder, names):
    print("| model | command | seconds | peak private memory | bars |\n|---|---|---|---|---|")
    exceeded = False
    for name in names or MODELS:
        config, key, quantization, tensors, converted = MODELS[name]
        source, package = folder / name, folder / f"{name}.accelpkg"
        make(source, config, key, quantization, tensors)
        seconds, _, peak, _ = measured([TOOL, "inspect", source])
        exceeded |= row(name, "inspect", seconds, peak, [(round(seconds, 2), 0.5, "s"), (round(peak / 1e6), 150, "MB")])
        few = dict(config, num_hidden_layers=converted)
        make(source, few, key, quantization, tensors)
        bar = round((max(math.prod(shape) for _, shape, _ in layers(few)) * 4 + 200e6) / 1e6)
        for scheme in ("keep", "int8"):
            shutil.rmtree(package, ignore_errors=True)
            seconds, _, peak, _ = measured([
                TOOL, "convert", source, "--shape", "batch=1,tokens=1,cache=2048", "--compress", scheme, "--no-cache", "--quiet",
                "-o", package])
            title = f"convert {converted} layers, {scheme}"
            exceeded |= row(name, title, seconds, peak, [(round(peak / 1e6), bar, f"MB of {bar} MB")])
            shutil.rmtree(package)
        shutil.rmtree(source)
    return exceeded


if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= MODELS.keys():
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:]))
