"""How near the embeddings of a compressed MiniLM stay to its own: known methods in torch, then accelc, on the same text.

usage: accuracy.py ACCELC MINILM [--accelc-only]      (wants torch, transformers, safetensors, numpy)
The 36 matrices of the encoder are compressed, the rest stays as it is. The figure is the SQNR of the mean-pooled
embeddings of 128 sentences: of two evaluation texts that the calibration (128 other sentences) does not hold, one of its
kind and one far from it. The methods in torch are round to nearest, k-means, and GPTQ with one run over the samples.
Exits 1 when accelc is below the line that it has to reach, or a calibrated scheme below its own form without samples.
"""

import argparse
import importlib
import inspect
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, BertModel

warnings.filterwarnings("ignore")
torch.set_grad_enabled(False)
COUNT = 128
CALIBRATION = """argparse json email.message http.client logging threading socket datetime decimal unittest collections itertools
functools os shutil tempfile subprocess tarfile zipfile csv configparser random statistics calendar heapq bisect string textwrap
difflib struct codecs"""
EVALUATION = "numpy torch torch.nn.functional"
WORDS = [
    "The doctor|My neighbour|A tired driver|The old teacher|Her younger brother|The committee|A group of tourists|The river|"
    "Our new manager|The small shop on the corner|A stray dog|The orchestra|The prime minister|Somebody from the bank|"
    "The farmer's daughter|A scientist in Geneva",
    "explained|forgot|could not find|was looking for|finally bought|complained about|painted|described|will never return to|"
    "has been talking about|quietly repaired|lost",
    "the broken window|a recipe for onion soup|the results of the election|an umbrella|the last train to Vienna|"
    "a letter from the hospital|two tickets for the concert|the history of the bridge|the missing invoice|"
    "a photograph of the sea|the noise in the engine|her first novel|a cure for the disease|the price of wheat",
    "because the weather had changed.|before anyone else arrived.|during a long dinner in March.|although nobody had asked.|"
    "and then went home without a word.|while the children were asleep.|for the third time this year.|"
    "as the newspapers reported yesterday.|in spite of the rain.",
]
# Scheme, and the SQNR that it has to have on the text of the calibration's kind.
SCHEMES = [
    ("int4", None), ("int4:method=weighted", None), ("int4:method=gptq", 15.6),
    ("palette:bits=4", None), ("palette:bits=4,method=weighted", None), ("palette:bits=4,method=gptq", 12.9),
    ("palette:bits=4,group=16", None), ("palette:bits=4,group=16,method=gptq", 13.7),
    ("palette:bits=3,group=16", None), ("palette:bits=3,group=16,method=gptq", 7.8),
]
TARGETS = [(4.0, 13.6), (3.0, 7.2)]


def docstrings(modules):
    """Sentences from the documentation of modules, evenly spaced."""
    found = {}
    for module in map(importlib.import_module, modules.split()):
        documents = [inspect.getdoc(module) or ""]
        documents += [inspect.getdoc(o) or "" for n, o in sorted(vars(module).items()) if callable(o) and not n.startswith("_")]
        for paragraph in (p for d in documents for p in re.split(r"\n\s*\n", d) if ">>>" not in p):
            for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())):
                if 25 <= len(sentence) <= 200 and sentence[0].isupper() and sentence.endswith("."):
                    found.setdefault(sentence)
    return list(found)[:: max(1, len(found) // COUNT)][:COUNT]


def prose():
    generator, found = random.Random(7), {}
    while len(found) < COUNT:
        found.setdefault(" ".join(generator.choice(words.split("|")) for words in WORDS))
    return list(found)


class Subject:
    """MiniLM, its texts, and what its embeddings are."""

    def __init__(self, folder):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        texts = {"calibration": docstrings(CALIBRATION), "documentation": docstrings(EVALUATION), "prose": prose()}
        self.texts = {k: tokenizer(t, padding=True, truncation=True, max_length=64, return_tensors="pt") for k, t in texts.items()}
        self.model = BertModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.names = [n for n, p in self.model.named_parameters() if n.startswith("encoder.") and p.ndim == 2]
        self.weights = {n: self.model.get_parameter(n).detach().clone() for n in self.names}
        self.exact = {text: self.embeddings(text) for text in self.texts}

    def embeddings(self, text):
        batch = self.texts[text]
        mask = batch["attention_mask"][..., None].float()
        return (self.model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)

    def moments(self):
        """The mean of x x^T for each weight's inputs x over the calibration text, hidden positions left out."""
        keep, found, hooks = self.texts["calibration"]["attention_mask"].bool(), {}, []
        def seen(name):
            def hook(_, inputs):
                x = inputs[0][keep].double()
                found[name] = x.T @ x / len(x)
            return hook
        for name in self.names:
            hooks.append(self.model.get_submodule(name.removesuffix(".weight")).register_forward_pre_hook(seen(name)))
        self.embeddings("calibration")
        for hook in hooks:
            hook.remove()
        return found

    def figures(self, weights):
        """SQNR on each text with these weights in place."""
        for name in self.names:
            self.model.get_parameter(name).copy_(weights[name])
        errors = {t: self.exact[t] - self.embeddings(t) for t in self.texts}
        for name in self.names:
            self.model.get_parameter(name).copy_(self.weights[name])
        return {t: 10 * math.log10(float(self.exact[t].square().sum() / errors[t].square().sum())) for t in self.texts}


# ---- the methods in torch ------------------------------------------------------------------------------------------


def scales(weight):
    """Of blocks of 32: the largest magnitude becomes 7."""
    return (weight.reshape(len(weight), -1, 32).abs().amax(2) / 7).half().float().clamp_min(1e-8)


def nearest(weight):
    wide = scales(weight).repeat_interleave(32, 1)
    return (weight / wide).round().clamp(-7, 7) * wide


def tables(weight, importance, bits, group):
    """Weighted k-means (Lloyd from quantiles) for each group of rows: entries, ascending."""
    entries = []
    for rows in weight.split(group):
        order = rows.flatten().argsort()
        x, w = rows.flatten()[order].double(), importance.expand_as(rows).flatten()[order].double()
        total, moment = torch.cat([w.new_zeros(1), w.cumsum(0)]), torch.cat([w.new_zeros(1), (w * x).cumsum(0)])
        centers = x[((torch.arange(2**bits) + 0.5) / 2**bits * len(x)).long()].clone()
        for _ in range(60):
            ends = torch.cat([torch.zeros(1).long(), torch.searchsorted(x, (centers[1:] + centers[:-1]) / 2), torch.tensor([len(x)])])
            mass = total[ends[1:]] - total[ends[:-1]]
            centers = torch.where(mass > 0, (moment[ends[1:]] - moment[ends[:-1]]) / mass.clamp_min(1e-30), centers).sort().values
        entries.append(centers.float())
    return entries


def looked_up(values, entries, group):
    return torch.cat([e[torch.searchsorted((e[1:] + e[:-1]) / 2, v.contiguous())] for v, e in zip(values.split(group), entries)])


def gptq(weight, moments, quantize):
    """Columns in order; `quantize(column, values)` gives what they are stored as."""
    size = len(moments)
    moments = moments + 0.01 * moments.diagonal().mean() * torch.eye(size, dtype=moments.dtype)
    upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(moments)), upper=True).float()
    rest, stored = weight.clone(), torch.zeros_like(weight)
    for first in range(0, size, 128):
        last, errors = min(first + 128, size), []
        for column in range(first, last):
            stored[:, column] = quantize(column, rest[:, column])
            error = (rest[:, column] - stored[:, column]) / upper[column, column]
            rest[:, column + 1 : last] -= error[:, None] * upper[column, column + 1 : last]
            errors.append(error)
        rest[:, last:] -= torch.stack(errors, 1) @ upper[first:last, last:]
    return stored


def torch_methods(weights, moments):
    def gptq_blocks(name):
        wide = scales(weights[name])
        return gptq(weights[name], moments[name],
                    lambda column, x: (x / wide[:, column // 32]).round().clamp(-8, 7) * wide[:, column // 32])

    def palette(bits, group, method):
        def store(name):
            weight = weights[name]
            rows = group or len(weight)
            importance = moments[name].diagonal().float() if method != "k-means" else torch.ones(weight.shape[1])
            entries = tables(weight, importance, bits, rows)
            if method == "gptq":
                return gptq(weight, moments[name], lambda _, x: looked_up(x, entries, rows))
            return looked_up(weight, entries, rows)
        return store

    yield "round to nearest, blocks of 32", lambda name: nearest(weights[name])
    yield "GPTQ, blocks of 32", gptq_blocks
    for bits, group, method in [(4, None, "k-means"), (4, None, "weighted"), (4, None, "gptq"), (4, 16, "k-means"), (4, 16, "gptq"), (3, 16, "gptq")]:
        yield f"{method}, {bits} bits, {f'groups of {group}' if group else 'one table'}", palette(bits, group, method)


# ---- accelc --------------------------------------------------------------------------------------------------------


def accelc_weights(accelc, model, samples, scratch, scheme, options=()):
    recipe, package, weights = (f"{scratch}/{n}" for n in ("recipe.json", "package.accelpkg", "weights.safetensors"))
    pathlib.Path(recipe).write_text(json.dumps(
        {"default": "stored", "rules": [{"match": "encoder.*", "operator": "linear", "compress": scheme}]}))
    calibrated = ["--calibrate", samples] if "method=" in scheme or options else []
    start = time.perf_counter()
    subprocess.run([accelc, "convert", str(model), "--shape", "batch=1,sequence=64", "--recipe", recipe, "--no-cache", "--quiet",
                    *calibrated, *options, "-o", package], check=True)
    seconds = time.perf_counter() - start
    subprocess.run([accelc, "decompress", package, "-o", weights, "--quiet"], check=True)
    return {n: w.float() for n, w in load_file(weights).items()}, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accelc")
    parser.add_argument("minilm", type=pathlib.Path)
    parser.add_argument("--accelc-only", action="store_true", help="leave the methods in torch out")
    options = parser.parse_args()
    model = options.minilm / "model" if (options.minilm / "model").exists() else options.minilm
    subject, failed, known = Subject(model), False, {}
    print(f"{'SQNR of the embeddings in dB':58s} documentation  prose  seconds")

    def line(label, figures, seconds, least=None, floor=None):
        nonlocal failed
        bad = least is not None and figures["documentation"] < least or floor is not None and any(figures[t] < floor[t] for t in floor)
        failed |= bad
        note = f"  ({'FAIL' if bad else 'ok'}: at least {least})" if least is not None else "  (FAIL: below the form without samples)" if bad else ""
        print(f"{label:58s} {figures['documentation']:13.2f} {figures['prose']:6.2f} {seconds:8.1f}{note}", flush=True)

    if not options.accelc_only:
        moments = subject.moments()
        for label, store in torch_methods(subject.weights, moments):
            start = time.perf_counter()
            weights = {name: store(name) for name in subject.names}
            line(f"torch: {label}", subject.figures(weights), time.perf_counter() - start)
    with tempfile.TemporaryDirectory() as scratch:
        samples = f"{scratch}/samples.safetensors"
        save_file({k: v.contiguous() for k, v in subject.texts["calibration"].items()}, samples)
        for scheme, least in SCHEMES:
            weights, seconds = accelc_weights(options.accelc, model, samples, scratch, scheme)
            figures = known[scheme] = subject.figures(weights)
            free = re.sub("[:,]method=.*", "", scheme)
            line(f"accelc: {scheme}", figures, seconds, least,
                 {t: known[free][t] for t in ("documentation", "prose")} if free != scheme else None)
        for bits, least in TARGETS:
            weights, seconds = accelc_weights(
                options.accelc, model, samples, scratch, "palette:bits=4", ("--target-bits", str(bits)))
            line(f"accelc: --target-bits {bits}", subject.figures(weights), seconds, least)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
