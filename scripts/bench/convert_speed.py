"""Whole conversions of a large bfloat16 checkpoint against `cat` and `dd`: its bytes read, and the package's bytes written, in the same run.

usage: convert_speed.py ACCELC FOLDER [GIGABYTES [ROUNDS]]       (wants numpy)
Makes a Llama of random weights in FOLDER (4 GB unless told; kept for the next run), converts it with each scheme, and takes in turns
with that `cat weights > /dev/null` and `dd conv=fdatasync` of the package's bytes (from memory: the page cache). Prints speeds in GB/s of the checkpoint,
their ratio, and accelc's peak private memory. Exits 1 when a ratio is below its bar.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import time

import numpy
from measured import measured

# Of the speed of cat and dd; for palettes GB/s for each core.
SCHEMES = [("int8", 0.8), ("int4:block=32,fit=absmax", 0.6), ("int4:block=32", None), ("palette:bits=4,group=16", None)]
PALETTE_SPEED = 0.15


def make(folder, gigabytes):
    """Llama-like: hidden 2048, a vocabulary of 32,000, as many layers as fit."""
    path = folder / "model.safetensors"
    hidden, inner, vocabulary, heads, kv = 2048, 5632, 32000, 32, 4
    shapes = {"model.embed_tokens.weight": (vocabulary, hidden), "lm_head.weight": (vocabulary, hidden), "model.norm.weight": (hidden,)}
    layers = 0
    size = lambda: sum(2 * int(numpy.prod(s)) for s in shapes.values())
    while size() < gigabytes * 1e9:
        prefix = f"model.layers.{layers}."
        shapes |= {prefix + f"self_attn.{n}_proj.weight": (w, hidden) for n, w in (("q", hidden), ("k", hidden * kv // heads), ("v", hidden * kv // heads), ("o", hidden))}
        shapes |= {prefix + "mlp.gate_proj.weight": (inner, hidden), prefix + "mlp.up_proj.weight": (inner, hidden), prefix + "mlp.down_proj.weight": (hidden, inner)}
        shapes |= {prefix + "input_layernorm.weight": (hidden,), prefix + "post_attention_layernorm.weight": (hidden,)}
        layers += 1
    configuration = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": vocabulary, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(configuration))
    if path.exists() and path.stat().st_size > size():
        return path
    header, offset = {}, 0
    for name, shape in shapes.items():
        count = 2 * int(numpy.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + count]}
        offset += count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    random = numpy.random.default_rng(1)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes.items():
            weights = random.standard_normal(int(numpy.prod(shape)), dtype=numpy.float32) * 0.02
            file.write((weights.view(numpy.uint32) >> 16).astype(numpy.uint16).tobytes())
    return path


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def convert(accelc, folder, scheme, output):
    """Seconds, and peak private megabytes (Linux)."""
    shutil.rmtree(output, ignore_errors=True)
    subprocess.run(["sync"], check=True)
    seconds, _, peak, _ = measured([
        accelc, "convert", folder, "--shape", "batch=1,tokens=128,cache=256", "--compress", scheme, "--no-cache", "--quiet", "-o", output])
    return seconds, peak / 2**20


def main(accelc, folder, gigabytes=4.0, rounds=2):
    folder = pathlib.Path(folder)
    path = make(folder, gigabytes)
    size = path.stat().st_size / 1e9
    output, read, written = folder / "out.accelpkg", folder / "package.bin", folder / "dd.bin"
    slow = False
    for scheme, bar in SCHEMES:
        ours, cat, dd, memory = [], [], [], 0
        for _ in range(rounds):
            cat.append(timed(["sh", "-c", f"cat '{path}' > /dev/null"]))
            seconds, peak = convert(accelc, folder, scheme, output)
            ours.append(seconds)
            memory = max(memory, peak)
            with open(read, "wb") as joined:
                for file in sorted(output.rglob("*")):
                    if file.is_file():
                        shutil.copyfileobj(open(file, "rb"), joined, 1 << 24)
            shutil.rmtree(output)
            subprocess.run(["sync"], check=True)
            dd.append(timed(["dd", f"if={read}", f"of={written}", "bs=1M", "conv=fdatasync"]))
            read.unlink(), written.unlink()
        seconds, peer = min(ours), min(cat) + min(dd)
        ratio = peer / seconds
        verdict = "" if bar is None else ("met" if ratio >= bar else "MISSED")
        wanted = "" if bar is None else f">= {bar:.2f}"
        if scheme.startswith("palette"):
            wanted, verdict = f">= {PALETTE_SPEED} GB/s a core", "met" if size / seconds / 2 >= PALETTE_SPEED else "MISSED"
        slow |= verdict == "MISSED"
        print(f"{scheme:28} {size:.2f} GB in {seconds:6.2f} s = {size / seconds:5.2f} GB/s   cat {min(cat):.2f} s + dd {min(dd):.2f} s   "
              f"ratio {ratio:.2f} {wanted:20} {memory:.0f} MB private   {verdict}", flush=True)
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:3], *map(float, sys.argv[3:4]), *map(int, sys.argv[4:5]))
