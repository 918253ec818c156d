#!/usr/bin/env python3
"""A weight file that changes while it is converted, and is put back with its time: nothing of the changed bytes may be found later."""

import json
import mmap
import os
import pathlib
import random
import shutil
import struct
import subprocess
import time

from common import ACCELC, SCRATCH, SHORT, Row, fresh, run

SHAPE = ["--shape", "batch=1,tokens=4,cache=8"]
SCHEMES = ["int8", "int4:block=32,fit=absmax", "float16"]
HIDDEN, INNER, WORDS, LAYERS = (128, 256, 1024, 2) if SHORT else (256, 512, 2048, 8)


def make(folder):
    """A Llama of random bfloat16, a few MB."""
    fresh(folder).mkdir(parents=True)
    shapes = {"model.embed_tokens.weight": (WORDS, HIDDEN), "lm_head.weight": (WORDS, HIDDEN), "model.norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        shapes |= {f"{prefix}self_attn.{n}_proj.weight": (HIDDEN, HIDDEN) for n in "qkvo"}
        shapes |= {f"{prefix}mlp.{n}_proj.weight": (INNER, HIDDEN) for n in ("gate", "up")}
        shapes |= {f"{prefix}mlp.down_proj.weight": (HIDDEN, INNER)}
        shapes |= {f"{prefix}{n}_layernorm.weight": (HIDDEN,) for n in ("input", "post_attention")}
    configuration = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": WORDS, "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(configuration))
    header, offset = {}, 0
    for name, shape in shapes.items():
        size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + weights(random.Random(1), offset))
    return path, 8 + len(text)


def weights(generator, size):
    """bfloat16 numbers between 2^-8 and 2^-4, of either sign."""
    low = generator.randbytes(size // 2)
    high = bytes(0x3B + (b & 1) + (0x80 if b & 2 else 0) for b in generator.randbytes(size // 2))
    result = bytearray(size)
    result[0::2], result[1::2] = low, high
    return bytes(result)


def convert(folder, cache, package, scheme, start=subprocess.run, **further):
    shutil.rmtree(package, ignore_errors=True)
    return start([ACCELC, "convert", folder, *SHAPE, "--compress", scheme, "--cache", cache, "--quiet", "-o", package], **further)


def digest(package):
    path = package / "manifest.json"
    return json.loads(path.read_text())["digest"] if path.exists() else None


class Meddler:
    """Changes a part of a file in place, by `write` or through a shared map, and puts it back with the time that it had."""

    def __init__(self, path, start, generator, through_map):
        self.path, self.generator = path, generator
        self.size = path.stat().st_size
        self.start = start
        self.file = open(path, "r+b", buffering=0)
        self.map = mmap.mmap(self.file.fileno(), 0) if through_map else None
        if self.map:
            self.map[start] = self.map[start]  # from now on its times stay
        self.times = (lambda s: (s.st_atime_ns, s.st_mtime_ns))(path.stat())

    def put(self, offset, content):
        if self.map:
            self.map[offset:offset + len(content)] = content
        else:
            os.pwrite(self.file.fileno(), content, offset)
            os.utime(self.path, ns=self.times)

    def change(self):
        length = min(1 << self.generator.randrange(14, 21), self.size - self.start)
        self.offset = self.start + self.generator.randrange(0, self.size - self.start - length + 1) // 2 * 2
        self.before = os.pread(self.file.fileno(), length // 2 * 2, self.offset)
        self.put(self.offset, weights(self.generator, len(self.before)))

    def restore(self):
        self.put(self.offset, self.before)

    def close(self):
        if self.map:
            self.map.close()
        self.file.close()


def attempt(seed, model, right, seconds, through_map):
    """Whether neither the run that is meddled with nor the next one gives anything but the right package, or an error."""
    path, start = model
    generator = random.Random(seed)
    scheme = generator.choice(SCHEMES)
    cache, package = fresh(SCRATCH / "cache"), SCRATCH / "out.accelpkg"
    if generator.random() < 0.5:
        # With digests that are remembered: the file is not hashed before it is used.
        run(ACCELC, "cache", "get", path.parent, *SHAPE, "--cache", cache)
    meddler = Meddler(path, start, generator, through_map)
    process = convert(path.parent, cache, package, scheme, subprocess.Popen, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(generator.random() * seconds[scheme])
        meddler.change()
        time.sleep(generator.random() * seconds[scheme])
    finally:
        meddler.restore()
        errors = process.communicate(timeout=120)[1]
        meddler.close()
    if process.returncode not in (0, 4):
        return False, f"seed {seed}: the first run ends with {process.returncode}: {errors[-200:]}"
    if process.returncode == 0 and digest(package) != right[scheme]:
        return False, f"seed {seed}: the first run succeeds with another package ({scheme})"
    again = convert(path.parent, cache, package, scheme, capture_output=True, text=True)
    if again.returncode != 0 and process.returncode == 0:
        return False, f"seed {seed}: the second run ends with {again.returncode}: {again.stderr[-200:]}"
    if again.returncode == 4:  # what it remembered was found to be wrong; it is forgotten now
        again = convert(path.parent, cache, package, scheme, capture_output=True, text=True)
    return again.returncode == 0 and digest(package) == right[scheme], f"seed {seed}: the next run makes another package ({scheme})"


def held_maps(right):
    """A page that was written through a shared map before its digest is remembered is written again afterwards."""
    row, control = Row("sources: a second write through a shared map"), Row("control: the times after such a write, without a sync between")
    folders = [SCRATCH] + [p for p in [pathlib.Path("/dev/shm")] if os.access(p, os.W_OK)]
    for parent in folders:
        folder = parent / f"accelc-held-{os.getpid()}"
        try:
            path, start = make(folder)
            cache, package = fresh(SCRATCH / "cache"), SCRATCH / "out.accelpkg"
            with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
                shared[start] ^= 2
                first = path.stat().st_ctime_ns
                time.sleep(0.02)
                shared[start] ^= 1
                control.tell(path.stat().st_ctime_ns != first)
                shared[start] ^= 1
                time.sleep(2.5)  # younger files are not remembered
                for turn in range(2):
                    convert(folder, cache, package, SCHEMES[0], capture_output=True)
                    row.tell(digest(package) not in (None, right[SCHEMES[0]]), f"{parent}, turn {turn}: not that of the changed weights")
                shared[start] ^= 2
            convert(folder, cache, package, SCHEMES[0], capture_output=True)
            row.tell(digest(package) == right[SCHEMES[0]], f"{parent}: still that of the changed weights")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    row.print()
    control.print()


def main():
    model = make(SCRATCH / "model")
    right, seconds = {}, {}
    for scheme in SCHEMES:
        start = time.monotonic()
        made = convert(model[0].parent, fresh(SCRATCH / "cache"), SCRATCH / "right.accelpkg", scheme, capture_output=True, text=True)
        if made.returncode:
            raise SystemExit(f"convert ends with {made.returncode}: {made.stderr[-300:]}")
        right[scheme], seconds[scheme] = digest(SCRATCH / "right.accelpkg"), time.monotonic() - start
    for name, through_map in [("by writing", False), ("through a shared map", True)]:
        row = Row(f"sources: weights changed {name}, and put back")
        for seed in range(3 if SHORT else 60):
            row.tell(*attempt(seed, model, right, seconds, through_map))
        row.print()
    held_maps(right)
    control = Row("control: sources, weights changed for good")
    for seed in range(2):
        meddler = Meddler(*model, random.Random(seed), False)
        meddler.change()
        convert(model[0].parent, fresh(SCRATCH / "cache"), SCRATCH / "out.accelpkg", SCHEMES[0], capture_output=True)
        control.tell(digest(SCRATCH / "out.accelpkg") == right[SCHEMES[0]])
        meddler.restore()
        meddler.close()
    control.print()


if __name__ == "__main__":
    main()
