"""Makes Tests/Fixtures/gguf/mixes.json: the type that llama.cpp's quantizer gives each matrix of small models, in every mix.

usage: fixtures_mixes.py        (wants gguf, numpy, and llama.cpp, which scripts/bench/llama.sh builds)
A case has an architecture and the shapes of its matrices by module, `[rows, columns]`; a module of layers is in all of them. For each
mix, and with `+imatrix` after its name where an importance matrix was given, it has the types by module: `Q6_K*2 Q4_K*15`, in the order
of layers.
"""

import itertools
import json
import pathlib
import sys
import tempfile

import gguf
import numpy

import fixtures
import llama_mixes

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "peers/shared"))
from llama_library import llama  # noqa: E402


def decoder(architecture, layers, width, inner, heads, keys, tied=False, head=None):
    head = head or width // heads
    shapes = {
        "token_embd": [64, width], "attn_q": [heads * head, width], "attn_k": [keys * head, width], "attn_v": [keys * head, width],
        "attn_output": [width, heads * head], "ffn_gate": [inner, width], "ffn_up": [inner, width], "ffn_down": [width, inner],
    }
    if architecture == "phi3":
        for name in ("attn_q", "attn_k", "attn_v", "ffn_gate"):
            del shapes[name]
        shapes["attn_qkv"], shapes["ffn_up"] = [(heads + 2 * keys) * head, width], [2 * inner, width]
    if not tied:
        shapes["output"] = [64, width]
    return dict(architecture=architecture, layers=layers, heads=heads, keys=keys, shapes=shapes)


def joined(layers, width):
    return dict(architecture="gpt2", layers=layers, heads=4, keys=4, shapes={
        "token_embd": [64, width], "position_embd": [64, width], "attn_qkv": [3 * width, width], "attn_output": [width, width],
        "ffn_up": [4 * width, width], "ffn_down": [width, 4 * width]})


def encoder(layers, width):
    return dict(architecture="bert", layers=layers, heads=4, keys=4, shapes={
        "token_embd": [64, width], "token_types": [2, width], "position_embd": [64, width], "attn_q": [width, width],
        "attn_k": [width, width], "attn_v": [width, width], "attn_output": [width, width], "ffn_up": [4 * width, width],
        "ffn_down": [width, 4 * width]})


CASES = {
    "17 layers": decoder("llama", 17, 256, 512, 4, 4),
    "17 layers, shared keys": decoder("llama", 17, 256, 512, 4, 1),
    "tied": decoder("llama", 5, 256, 256, 4, 2, tied=True),
    "narrow": decoder("llama", 9, 96, 256, 4, 2),
    "no blocks": decoder("llama", 3, 48, 80, 4, 2),
    "70B": decoder("llama", 80, 256, 256, 2, 1),
    "65B": decoder("llama", 80, 256, 256, 2, 2),
    "qwen2, 80 layers": decoder("qwen2", 80, 256, 256, 2, 2),
    "qwen3": decoder("qwen3", 16, 256, 256, 4, 1, tied=True, head=32),
    "phi3, shared keys": decoder("phi3", 10, 256, 256, 4, 1),
    "gemma": decoder("gemma", 18, 256, 512, 4, 1, tied=True),
    "gemma3": decoder("gemma3", 26, 256, 512, 4, 1, tied=True),
    "gpt2": joined(12, 256),
    "bert, narrow": encoder(6, 96),
    "bert": encoder(12, 256),
}


def outside(module):
    return module in ("token_embd", "output", "position_embd", "token_types")


def write(case, path):
    name, shapes = case["architecture"], case["shapes"]
    file = gguf.GGUFWriter(path, name)
    width = shapes["token_embd"][1]
    head = shapes["attn_output"][1] // case["heads"]
    file.add_context_length(64)
    file.add_embedding_length(width)
    file.add_block_count(case["layers"])
    file.add_feed_forward_length(shapes["ffn_down"][1])
    file.add_head_count(case["heads"])
    file.add_head_count_kv(case["keys"])
    file.add_key_length(head)
    file.add_value_length(head)
    file.add_rope_dimension_count(head)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_layer_norm_eps(1e-5)
    file.add_causal_attention(name != "bert")
    file.add_vocab_size(shapes["token_embd"][0])
    file.add_tokenizer_model("none")
    if name == "phi3":
        file.add_sliding_window(0)
    random = numpy.random.default_rng(1)
    for module, shape in shapes.items():
        values = random.standard_normal(shape).astype(numpy.float32)
        for prefix in [""] if outside(module) else [f"blk.{layer}." for layer in range(case["layers"])]:
            file.add_tensor(f"{prefix}{module}.weight", values)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def run_lengths(words):
    return " ".join(f"{word}*{count}" for word, count in ((word, len(list(group))) for word, group in itertools.groupby(words)))


def made(case, folder):
    source = folder / "source.gguf"
    write(case, source)
    rows = {tensor.name: int(tensor.shape[0]) for tensor in gguf.GGUFReader(source).tensors}
    found = {}
    for mix in llama_mixes.MIXES:
        for matrices in ([] if mix in llama_mixes.WEIGHTED else [None]) + [rows]:
            by_module = {}
            for name, kind in llama_mixes.planned(llama, source, mix, matrices).items():
                *layer, module, _ = name.split(".")
                by_module.setdefault(module, {})[int(layer[1]) if layer else 0] = kind
            assert by_module.keys() == case["shapes"].keys()
            found[mix + ("+imatrix" if matrices else "")] = {
                module: run_lengths([types[layer] for layer in sorted(types)]) for module, types in sorted(by_module.items())}
    return dict(architecture=case["architecture"], layers=case["layers"], shapes=case["shapes"], mixes=found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        cases = {}
        for name, case in CASES.items():
            print(name, flush=True)
            cases[name] = made(case, pathlib.Path(folder))
    lines = ["{"]
    for name, case in cases.items():
        mixes = case.pop("mixes")
        head = json.dumps(case)[:-1]
        rows = ",\n".join(f"    {json.dumps(mix)}: {json.dumps(types)}" for mix, types in mixes.items())
        lines.append(f"  {json.dumps(name)}: {head}, \"mixes\": {{\n{rows}}}}}" + ("," if name != list(cases)[-1] else ""))
    (fixtures.FIXTURES / "gguf/mixes.json").write_text("\n".join(lines + ["}"]) + "\n")
