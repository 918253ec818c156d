"""How far MiniLM's sentence embeddings move under each scheme that needs no data: 36 encoder matrices compressed, all else
as it is, about 128 sentences.

usage: accuracy_datafree.py ACCELC MINILM [SCHEME ...]     (MINILM: holds model/, as scripts/get_minilm.sh makes it)

For each scheme: bits a weight and SQNR of the encoder's matrices as accelc reports them, SQNR and mean and least cosine of the
mean-pooled, unit-length embeddings against the uncompressed model. The sentences are the first of docstrings of
Python's own library, so they are the same wherever the same Python is; figures move by about 1 dB with the text, so compare rows of
one run. Fails when the default of a scheme is below plain rounding to nearest.
"""

import ast
import json
import math
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer, BertModel

SCHEMES = """int4:range=7,fit=absmax int4:fit=absmax int4 nf4:fit=absmax nf4
    int4:mode=asymmetric,fit=absmax int4:mode=asymmetric affine:bits=4,fit=minmax affine:bits=4,fit=hqq affine:bits=4
    affine:bits=3,fit=minmax affine:bits=3,fit=hqq affine:bits=3 int8:fit=absmax int8:fit=mse
    palette:bits=4 palette:bits=4,group=16 palette:bits=4,entries=int8 palette:bits=3,group=16 palette:bits=6
    vector:bits=8,size=2 vector:bits=6,size=2 vector:bits=8,size=4
    outliers:share=0.005+int4 outliers:share=0.005+palette:bits=4 outliers:share=0.005+affine:bits=3
    sparse:target=0.5+float16 sparse:target=0.5+int8 sparse:target=0.5+palette:bits=4 sparse:target=0.75+int8
    sparse:pattern=2:4+int8 sparse:pattern=2:4+palette:bits=4 sparse:threshold=0.02+int8""".split()
# (what has to be at least, as good as what)
ORDER = [
    ("int4:fit=absmax", "int4:range=7,fit=absmax"), ("int4", "int4:fit=absmax"), ("nf4", "int4:range=7,fit=absmax"),
    ("nf4", "nf4:fit=absmax"), ("int4:mode=asymmetric", "int4:mode=asymmetric,fit=absmax"),
    ("affine:bits=4", "affine:bits=4,fit=minmax"), ("affine:bits=4,fit=hqq", "affine:bits=4,fit=minmax"),
    ("outliers:share=0.005+int4", "int4"), ("vector:bits=8,size=2", "palette:bits=4"),
]


def sentences(count=128):
    found = []
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = re.sub(r"\s+", " ", (ast.get_docstring(node) or "").split("\n\n")[0]).strip()
                if 40 <= len(text) <= 400:
                    found.append(text)
    return found[:: max(1, len(found) // count)][:count]


def embeddings(folder, tensors, texts):
    model = BertModel.from_pretrained(folder, dtype=torch.float32).eval()
    if tensors:
        missing = model.load_state_dict({k: v.float() for k, v in tensors.items()}, strict=False).missing_keys
        assert not [name for name in missing if "position_ids" not in name], missing
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = []
    with torch.no_grad():
        for start in range(0, len(texts), 32):
            batch = tokenizer(texts[start:start + 32], padding=True, truncation=True, max_length=128, return_tensors="pt")
            mask = batch["attention_mask"].unsqueeze(-1).float()
            hidden = model(**batch).last_hidden_state
            rows.append(torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1))
    return torch.cat(rows).double()


def stored(document):
    """The list of stored tensors in what `inspect --json` prints."""
    if isinstance(document, dict):
        if isinstance(document.get("stored"), list):
            return document["stored"]
        document = list(document.values())
    for part in document if isinstance(document, list) else []:
        found = stored(part)
        if found:
            return found
    return []


def main():
    accelc, folder = sys.argv[1], pathlib.Path(sys.argv[2]) / "model"
    schemes = sys.argv[3:] or SCHEMES
    texts = sentences()
    reference = embeddings(folder, None, texts)
    print(f"{len(texts)} sentences; 36 matrices")
    print(f"{'scheme':44} {'bits':>6} {'weights dB':>11} {'embedding dB':>13} {'cosine':>8} {'least':>8}")
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for scheme in schemes:
            recipe = scratch / "recipe.json"
            rules = [{"match": "*encoder.layer.*.weight", "operator": "linear", "compress": scheme}]
            recipe.write_text(json.dumps({"default": "stored", "rules": rules}))
            package, weights = scratch / "out.accelpkg", scratch / "weights.safetensors"
            done = subprocess.run(
                [accelc, "convert", folder, "--shape", "batch=1,sequence=128", "--recipe", recipe, "--no-cache", "--quiet",
                 "-o", package], capture_output=True, text=True)
            if done.returncode:
                print(f"{scheme:44} {done.stderr.strip().splitlines()[-1]}")
                continue
            listing = json.loads(subprocess.run(
                [accelc, "inspect", package, "--json"], check=True, capture_output=True, text=True).stdout)
            subprocess.run([accelc, "decompress", package, "-o", weights], check=True, capture_output=True)
            mine, original = load_file(weights), load_file(folder / "model.safetensors")
            matrices = [n for n in mine if re.search(r"encoder\.layer\..*weight$", n) and mine[n].ndim == 2]
            noise = sum((mine[n].double() - original[n].double()).square().sum() for n in matrices)
            energy = sum(original[n].double().square().sum() for n in matrices)
            bits = [(t["bytes"] * 8, math.prod(t["shape"])) for t in stored(listing) if t["name"] in matrices]
            width = sum(b for b, _ in bits) / max(1, sum(n for _, n in bits))
            value = embeddings(folder, mine, texts)
            error = (value - reference).square().sum()
            sqnr = 10 * math.log10(reference.square().sum() / error) if error else math.inf
            cosine = (value * reference).sum(1)
            results[scheme] = sqnr
            print(f"{scheme:44} {width:6.3f} {10 * math.log10(energy / noise):11.2f} {sqnr:13.2f} "
                  f"{cosine.mean():8.5f} {cosine.min():8.5f}", flush=True)
            package.exists() and subprocess.run(["rm", "-r", package], check=True)
    worse = [(a, b) for a, b in ORDER if a in results and b in results and results[a] < results[b] - 0.05]
    for better, other in worse:
        print(f"{better} ({results[better]:.2f} dB) is below {other} ({results[other]:.2f} dB)")
    sys.exit(1 if worse else 0)


main()
