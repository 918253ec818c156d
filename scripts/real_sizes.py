"""Makes models of real size with random weights, converts them, and prints the table of large models in the article Speed.

usage: real_sizes.py FOLDER [MODEL...]     (default: whisper-small phi-3-mini; wants numpy, and 30 GB in FOLDER for both)
       real_sizes.py FOLDER --only-make [MODEL...]
The third model, llama-360m, is what scripts/bench.sh takes steps of one token with. Models that FOLDER has already are taken as they are. Private memory is sampled and therefore Linux only (/proc).
"""

import concurrent.futures
import json
import math
import os
import pathlib
import shutil
import sys
import zlib

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts/bench"))

from measured import measured  # noqa: E402  (the path above)

TOOL = ROOT / ".build" / "release" / "accelc"
BLOCK = 1 << 20

WHISPER_SMALL = dict(
    architectures=["WhisperForConditionalGeneration"], model_type="whisper", torch_dtype="float32", d_model=768,
    encoder_layers=12, encoder_attention_heads=12, encoder_ffn_dim=3072, decoder_layers=12, decoder_attention_heads=12,
    decoder_ffn_dim=3072, num_mel_bins=80, vocab_size=51865, max_source_positions=1500, max_target_positions=448,
    activation_function="gelu", scale_embedding=False, pad_token_id=50257, bos_token_id=50257, eos_token_id=50257,
    decoder_start_token_id=50258)
PHI_3_MINI = dict(
    architectures=["Phi3ForCausalLM"], model_type="phi3", torch_dtype="bfloat16", hidden_size=3072, intermediate_size=8192,
    num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32, vocab_size=32064, hidden_act="silu",
    max_position_embeddings=4096, original_max_position_embeddings=4096, rope_theta=10000.0, rope_scaling=None,
    rms_norm_eps=1e-5, sliding_window=2047, tie_word_embeddings=False, attention_bias=False, attention_dropout=0.0,
    bos_token_id=1, eos_token_id=32000, pad_token_id=32000)

LLAMA_360M = dict(
    architectures=["LlamaForCausalLM"], model_type="llama", torch_dtype="bfloat16", hidden_size=960, intermediate_size=2560,
    num_hidden_layers=32, num_attention_heads=15, num_key_value_heads=5, vocab_size=49152, hidden_act="silu",
    max_position_embeddings=8192, rope_theta=100000.0, rope_scaling=None, rms_norm_eps=1e-5, tie_word_embeddings=True,
    attention_bias=False, mlp_bias=False, bos_token_id=0, eos_token_id=0)


def whisper(config):
    """Name and shape of each tensor, as the hub has them."""
    width, positions = config["d_model"], dict(
        encoder=config["max_source_positions"], decoder=config["max_target_positions"])

    def linear(name, rows, columns, bias=True):
        yield f"{name}.weight", (rows, columns)
        if bias:
            yield f"{name}.bias", (rows,)

    def norm(name):
        yield f"{name}.weight", (width,)
        yield f"{name}.bias", (width,)

    def attention(name):
        for role in ("k_proj", "v_proj", "q_proj", "out_proj"):
            yield from linear(f"{name}.{role}", width, width, bias=role != "k_proj")

    for index, inputs in ((1, config["num_mel_bins"]), (2, width)):
        yield f"model.encoder.conv{index}.weight", (width, inputs, 3)
        yield f"model.encoder.conv{index}.bias", (width,)
    yield "model.decoder.embed_tokens.weight", (config["vocab_size"], width)
    for part in ("encoder", "decoder"):
        yield f"model.{part}.embed_positions.weight", (positions[part], width)
        for layer in range(config[f"{part}_layers"]):
            name = f"model.{part}.layers.{layer}"
            for role in ("self_attn",) + ("encoder_attn",) * (part == "decoder"):
                yield from attention(f"{name}.{role}")
                yield from norm(f"{name}.{role}_layer_norm")
            yield from linear(f"{name}.fc1", config[f"{part}_ffn_dim"], width)
            yield from linear(f"{name}.fc2", width, config[f"{part}_ffn_dim"])
            yield from norm(f"{name}.final_layer_norm")
        yield from norm(f"model.{part}.layer_norm")


def phi3(config):
    width, inner = config["hidden_size"], config["intermediate_size"]
    head = width // config["num_attention_heads"]
    keys = config["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", (config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        yield f"{name}.input_layernorm.weight", (width,)
        yield f"{name}.mlp.down_proj.weight", (width, inner)
        yield f"{name}.mlp.gate_up_proj.weight", (2 * inner, width)
        yield f"{name}.post_attention_layernorm.weight", (width,)
        yield f"{name}.self_attn.o_proj.weight", (width, width)
        yield f"{name}.self_attn.qkv_proj.weight", (width + 2 * keys, width)
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (config["vocab_size"], width)


def llama(config):
    width, inner = config["hidden_size"], config["intermediate_size"]
    keys = config["num_key_value_heads"] * width // config["num_attention_heads"]
    yield "model.embed_tokens.weight", (config["vocab_size"], width)
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        yield f"{name}.input_layernorm.weight", (width,)
        yield f"{name}.mlp.down_proj.weight", (width, inner)
        yield f"{name}.mlp.gate_proj.weight", (inner, width)
        yield f"{name}.mlp.up_proj.weight", (inner, width)
        yield f"{name}.post_attention_layernorm.weight", (width,)
        for role, rows in (("k", keys), ("o", width), ("q", width), ("v", keys)):
            yield f"{name}.self_attn.{role}_proj.weight", (rows, width)
    yield "model.norm.weight", (width,)


# name: configuration, tensors, bytes of a shard at most, and what a conversion freezes
MODELS = {
    "whisper-small": (WHISPER_SMALL, whisper, 5e9, ["--part", "encoder", "--shape", "batch=1,frames=3000"]),
    "phi-3-mini": (PHI_3_MINI, phi3, 2.5e9, ["--shape", "batch=1,tokens=1,cache=2048"]),
    "llama-360m": (LLAMA_360M, llama, 5e9, ["--shape", "batch=1,tokens=1,cache=1024"]),
}
SCHEMES = ["int4:block=32", "palette:bits=4,group=16", "palette:bits=4"]


def spread(name, shape):
    """Mean and standard deviation of a tensor's weights."""
    if len(shape) == 1:
        return (1.0, 0.1) if "norm" in name and name.endswith("weight") else (0.0, 0.02)
    if "embed" in name:
        return 0.0, 0.02
    # What layers add to the residual stream is small beside it.
    scale = 0.1 if any(role in name for role in ("o_proj", "out_proj", "down_proj", "fc2")) else 1
    return 0.0, scale / math.sqrt(math.prod(shape[1:]))


def block(name, shape, dtype, start):
    """Elements from `start`, as bytes; each block has a generator of its own, so that threads share them out."""
    mean, deviation = spread(name, shape)
    generator = numpy.random.Generator(numpy.random.SFC64([zlib.crc32(name.encode()), start]))
    values = generator.standard_normal(min(BLOCK, math.prod(shape) - start), dtype=numpy.float32)
    values *= numpy.float32(deviation)
    values += numpy.float32(mean)
    if dtype == "float32":
        return values.tobytes()
    bits = values.view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16).tobytes()  # to nearest even


def write_shard(path, tensors, dtype, pool):
    width, header, offset = 4 if dtype == "float32" else 2, {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors:
        end = offset + math.prod(shape) * width
        header[name] = {"dtype": "F32" if width == 4 else "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in tensors:
            starts = range(0, math.prod(shape), BLOCK)
            for part in pool.map(lambda start: block(name, shape, dtype, start), starts):
                file.write(part)


def make(folder, name):
    """A checkpoint as the hub has it: config.json, shards, and their index."""
    config, tensors, limit, _ = MODELS[name]
    dtype = config["torch_dtype"]
    width = 4 if dtype == "float32" else 2
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    shards, room = [], 0
    for tensor in tensors(config):
        size = math.prod(tensor[1]) * width
        if size > room or not shards:
            shards.append([])
            room = limit
        shards[-1].append(tensor)
        room -= size
    places = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for index, shard in enumerate(shards):
            many = f"-{index + 1:05}-of-{len(shards):05}" if len(shards) > 1 else ""
            write_shard(partial / f"model{many}.safetensors", shard, dtype, pool)
            places |= {tensor: f"model{many}.safetensors" for tensor, _ in shard}
    if len(shards) > 1:
        total = sum(math.prod(shape) * width for _, shape in tensors(config))
        index = {"metadata": {"total_size": total}, "weight_map": places}
        (partial / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    (partial / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    partial.rename(folder)


def write_step(path):
    """What a step of one token takes: `run --inputs`."""
    header = {"input_ids": {"dtype": "I64", "shape": [1, 1], "data_offsets": [0, 8]},
              "position": {"dtype": "I64", "shape": [1], "data_offsets": [8, 16]}}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + (17).to_bytes(8, "little") + (300).to_bytes(8, "little"))


def bytes_in(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def rows(folder, name):
    config, tensors, _, options = MODELS[name]
    width = 4 if config["torch_dtype"] == "float32" else 2
    largest = max(math.prod(shape) * width for _, shape in tensors(config))
    size = bytes_in(folder)
    package = folder.with_name(f"{name}.accelpkg")
    for scheme in SCHEMES:
        shutil.rmtree(package, ignore_errors=True)
        seconds, _, peak, _ = measured(
            [TOOL, "convert", folder, *options, "--compress", scheme, "--no-cache", "--quiet", "-o", package])
        bar = 300e6 + largest
        yield (f"| {name} | `{scheme}` | {seconds:.1f} s | {size / seconds / 1e9:.2f} GB/s | {bytes_in(package) / 1e9:.2f} GB "
               f"| {peak / 1e6:.0f} MB of {bar / 1e6:.0f} MB{'' if peak < bar else ' EXCEEDED'} |")
        shutil.rmtree(package)


def main(folder, names, only_make):
    print("| model | scheme | seconds | of input | package | peak private memory |\n|---|---|---|---|---|---|")
    for name in names or MODELS:
        if not (folder / name).exists():
            make(folder / name, name)
        if name != "whisper-small":
            write_step(folder / f"{name}.step.safetensors")
        if not only_make:
            for row in rows(folder / name, name):
                print(row, flush=True)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--only-make"]
    if not arguments or not set(arguments[1:]) <= MODELS.keys():
        sys.exit(__doc__)
    main(pathlib.Path(arguments[0]), arguments[1:], "--only-make" in sys.argv)
