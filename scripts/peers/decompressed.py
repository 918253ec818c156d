"""What `decompress` writes, loaded by transformers: every parameter of the class is there, and the outputs are the original's.

usage: decompressed.py ACCELC MINILM

MiniLM, and models of the fixtures that accelc stores otherwise than their checkpoints: patch embeddings as matrices, weights that
are lengths and directions as products, heads that are equal to word embeddings once.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file

if len(sys.argv) != 3:
    sys.exit(__doc__)
ACCELC, MINILM = sys.argv[1], pathlib.Path(sys.argv[2])
FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests" / "Fixtures"
MODELS = [
    (MINILM / "model", "BertModel", "batch=1,sequence=128"),
    (FIXTURES / "vit_tall", "ViTModel", "batch=1"),
    (FIXTURES / "clipvision_plain", "CLIPVisionModel", "batch=1"),
    (FIXTURES / "wav2vec2_odd", "Wav2Vec2ForCTC", "batch=1,samples=16000"),
    (FIXTURES / "hubert_stable", "HubertModel", "batch=1,samples=16000"),
    (FIXTURES / "bert_mlm", "BertForMaskedLM", "batch=1,sequence=8"),
    (FIXTURES / "phi3_partial", "Phi3ForCausalLM", "batch=1,tokens=4,cache=8"),
]
failures = []


def check(what, good):
    print(f"  {'ok  ' if good else 'FAIL'} {what}")
    if not good:
        failures.append(what)


def load(name, folder):
    model, info = getattr(transformers, name).from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    return model.eval(), {key: sorted(info[key]) for key in ("missing_keys", "unexpected_keys", "mismatched_keys")}


for source, default, shape in MODELS:
    config = transformers.AutoConfig.from_pretrained(source)
    name = (config.architectures or [default])[0]
    with tempfile.TemporaryDirectory() as scratch:
        package, folder = f"{scratch}/p.accelpkg", pathlib.Path(scratch) / "again"
        folder.mkdir()
        shutil.copy(source / "config.json", folder)
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        words = ["convert", source, "--shape", shape, "--compress", "float32", "--no-cache", "-o", package]
        subprocess.run([ACCELC, *map(str, words)], **quiet)
        subprocess.run([ACCELC, "decompress", package, "-o", str(folder / "model.safetensors")], **quiet)
        print(f"{source.name} ({name}): {len(load_file(folder / 'model.safetensors'))} tensors")
        original, expected = load(name, source)
        model, found = load(name, folder)
        # What training alone reads is not in a package: transformers draws it anew.
        trained = [key for key in found["missing_keys"] if key.endswith("masked_spec_embed")]
        check(f"no more keys are missing than of the original {expected['missing_keys']} and {trained}",
              set(found["missing_keys"]) <= set(expected["missing_keys"]) | set(trained))
        check(f"none is unexpected: {found['unexpected_keys']}", not found["unexpected_keys"])
        check(f"all have their shapes: {found['mismatched_keys']}", not found["mismatched_keys"])
        ours, theirs = model.state_dict(), original.state_dict()
        differing = [key for key in theirs if key not in trained and "original" not in key and not torch.equal(ours[key], theirs[key])]
        check(f"all parameters are equal: {differing[:3]}", not differing)
        effective = [
            (module.weight.detach(), dict(model.named_modules())[path].weight.detach())
            for path, module in original.named_modules() if hasattr(module, "parametrizations")
        ]
        worst = max((((a - b).abs().max() / a.abs().max()).item() for a, b in effective), default=0.0)
        check(f"{len(effective)} normed weights are equal within {worst:.2g}", worst < 1e-6)
if failures:
    sys.exit(f"{len(failures)} failures")
