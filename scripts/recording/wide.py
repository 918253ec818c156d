"""A decoder whose rows have 256 weights, so that every scheme applies: each scheme and each option of a scheme."""
import json
import re
import struct

from . import safetensors
from .reports import verified

WIDTH, VOCABULARY = 256, 64
CONFIGURATION = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": WIDTH,
    "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": VOCABULARY,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-06, "hidden_act": "silu", "tie_word_embeddings": False,
    "rope_theta": 10000.0, "torch_dtype": "float32", "bos_token_id": 0, "eos_token_id": 2,
}
# Schemes with another inside: one for each option.
LAYERED = [
    "sparse:threshold=0.02+int8", "sparse:pattern=2:4+float16", "sparse:target=0.3+palette:bits=4", "outliers:share=0.02+int4",
    "outliers:values=float32+int8", "flat:row=512+int4", "permuted+int8",
]
NUMBERS = {"group": {"palette": "16", "vector": "16", "hqq": "32"}, "share": "0.01", "row": "512"}
SHAPE = ["--shape", "batch=1,tokens=4,cache=8"]


def random_floats(state):
    """Sums of three uniform numbers about zero, from a linear congruential generator: the same everywhere."""
    while True:
        total = 0
        for _ in range(3):
            state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
            total += (state >> 40) - (1 << 23)
        yield total / (1 << 23) / 16


def model(path):
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIGURATION))
    layer, half = "model.layers.0.", WIDTH // 2
    shapes = {
        "model.embed_tokens.weight": [VOCABULARY, WIDTH], "lm_head.weight": [VOCABULARY, WIDTH], "model.norm.weight": [WIDTH],
        layer + "input_layernorm.weight": [WIDTH], layer + "post_attention_layernorm.weight": [WIDTH],
        layer + "self_attn.q_proj.weight": [WIDTH, WIDTH], layer + "self_attn.k_proj.weight": [half, WIDTH],
        layer + "self_attn.v_proj.weight": [half, WIDTH], layer + "self_attn.o_proj.weight": [WIDTH, WIDTH],
        layer + "mlp.gate_proj.weight": [WIDTH, WIDTH], layer + "mlp.up_proj.weight": [WIDTH, WIDTH],
        layer + "mlp.down_proj.weight": [WIDTH, WIDTH],
    }
    numbers, tensors = random_floats(1), {}
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        shift = 1 if len(shape) == 1 else 0
        tensors[name] = ("F32", shape, struct.pack(f"<{count}f", *(next(numbers) + shift for _ in range(count))))
    safetensors.write(path / "model.safetensors", tensors)


def inputs(path):
    tokens = [(7 * row + 3 * column * column) % VOCABULARY for row in range(6) for column in range(4)]
    safetensors.write(path, {"input_ids": ("I32", [6, 4], struct.pack("<24i", *tokens))})


def schemes(tool):
    """All schemes and mixes of the help of convert, and each value of each option of theirs."""
    page = tool.output("convert", "--help-all").decode()
    part, _, mixes = page[page.index("\nSchemes: "):].partition("\nor a mix of ")
    result, scheme = [], None
    for line in part.split("\n"):
        if found := re.match(r"  ([a-z][a-z0-9_]*)(\+SPEC)?$", line):
            scheme = None if found[2] else found[1]
            result += [scheme] if scheme else []
        elif scheme and (found := re.match(r"    ([a-z0-9]+)=(\S+)", line)):
            for value in found[2].split("|"):
                if not value.isupper():
                    result.append(f"{scheme}:{found[1]}={value}")
                elif number := NUMBERS.get(found[1]):
                    result.append(f"{scheme}:{found[1]}={number[scheme] if isinstance(number, dict) else number}")
    names = re.findall(r"[a-z0-9]+_[a-z0-9_]+", mixes[mixes.index(":"):])
    return result + LAYERED + names


def calibration(scheme):
    needs = any(f"method={method}" in scheme for method in ("weighted", "gptq", "awq"))
    return ["--calibrate", "inputs.safetensors"] if needs else []


def jobs(tool, _):
    listed, formats = schemes(tool), tool.formats()
    known = sorted(set(listed) | set(formats["accelpkg"]["compress"]))
    result = []
    for part in range(8):
        result.append((f"wide convert {part + 1}", lambda part=part: conversions(tool, known[part::8])))
    mixes = [scheme for scheme in listed if scheme not in formats["accelpkg"]["compress"] and ":" not in scheme and "+" not in scheme]
    for format, writes in formats.items():
        if format != "accelpkg":
            words = [["--compress", scheme] for scheme in writes["compress"] + (mixes if format == "gguf" else [])]
            if option := writes["option"]:
                words += [[f"--{option['name']}", value] for value in option["values"]]
            result.append((f"wide {format}", lambda format=format, words=words: exports(tool, format, words)))
    return result


def conversions(tool, schemes):
    with tool.folder() as folder:
        model(folder.path / "wide")
        inputs(folder.path / "inputs.safetensors")
        record = {}
        for scheme in schemes:
            words = ["convert", "wide", *SHAPE, "--compress", scheme, *calibration(scheme)]
            made = folder.made(words, "p.accelpkg")
            record[scheme] = entry = {"conversion": made}
            if "digest" in made:
                made |= folder.new_keys()
                entry["report"] = verified(folder, ["p.accelpkg", "--against", "wide", "--only", "weights,outputs"])
        return record


def exports(tool, format, options):
    with tool.folder() as folder:
        model(folder.path / "wide")
        record = {}
        for words in options:
            fallback = ["--allow-fallback"] if format in ("coreml", "coreai", "mlx", "gguf") else []
            output = "out.mlpackage" if format == "coreml" else "out"
            made = folder.made(["export", "wide", *SHAPE, "--format", format, *fallback, *words], output)
            record[" ".join(words)] = made
        record["keys"] = folder.new_keys()
        return record
