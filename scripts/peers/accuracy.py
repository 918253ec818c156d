"""How near the embeddings of a compressed MiniLM stay to its own: known methods in torch, then accelc, on the same text.

usage: accuracy.py ACCELC MINILM [--accelc-only]      (wants torch, transformers, safetensors, numpy)
The 36 matrices of the encoder are compressed, the rest stays as it is. The figure is the SQNR of the mean-pooled
embeddings of 128 sentences: of three evaluation texts that the calibration (128 other sentences) does not hold, one of its
kind and two far from it (the last one, of licenses, was never looked at while methods were chosen). The methods in torch
are round to nearest, k-means, and GPTQ with one run over the samples. Then the same schemes on a small llama, trained here on
the calibration's kind of text, and on an encoder like Whisper's with random weights; and the mean over the three models.
Exits 1 when accelc is below the line that it has to reach, or a calibrated scheme below its own form without samples.
"""

import argparse
import importlib
import importlib.metadata
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
from transformers import AutoTokenizer, BertModel, LlamaConfig, LlamaForCausalLM, WhisperConfig, WhisperForConditionalGeneration

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
    ("int4", None), ("int4:method=weighted", None), ("int4:method=awq", None), ("int4:method=gptq", 15.6),
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


def licenses():
    """Sentences of the licenses that come with numpy and torch, evenly spaced."""
    found = {}
    for package in ("numpy", "torch"):
        files = importlib.metadata.files(package) or []
        for path in sorted(f for f in files if re.search("LICENSE|NOTICE", str(f)) and f.locate().suffix in ("", ".txt")):
            for paragraph in re.split(r"\n\s*\n", path.locate().read_text(errors="replace")):
                for sentence in re.split(r"(?<=[.;:])\s+", " ".join(paragraph.split())):
                    if 40 <= len(sentence) <= 200 and sentence[0].isupper() and sentence.isascii():
                        found.setdefault(sentence)
    return list(found)[:: max(1, len(found) // COUNT)][:COUNT]


def prose():
    generator, found = random.Random(7), {}
    while len(found) < COUNT:
        found.setdefault(" ".join(generator.choice(words.split("|")) for words in WORDS))
    return list(found)


def decibels(exact, found):
    return 10 * math.log10(float(exact.square().sum() / (exact - found).square().sum()))


class Subject:
    """MiniLM, its texts, and what its embeddings are."""
    name = "MiniLM"
    arguments = ["--shape", "batch=1,sequence=64"]
    rule = {"match": "encoder.*", "operator": "linear"}
    others = ["embeddings.*", "pooler.*"]

    def __init__(self, folder):
        self.folder = folder
        tokenizer = AutoTokenizer.from_pretrained(folder)
        texts = {"calibration": docstrings(CALIBRATION), "documentation": docstrings(EVALUATION), "prose": prose(), "licenses": licenses()}
        self.texts = {k: tokenizer(t, padding=True, truncation=True, max_length=64, return_tensors="pt") for k, t in texts.items()}
        self.model = BertModel.from_pretrained(folder, dtype=torch.float32).eval()
        self.names = [n for n, p in self.model.named_parameters() if n.startswith("encoder.") and p.ndim == 2]
        self.weights = {n: self.model.get_parameter(n).detach().clone() for n in self.names}
        self.exact = {text: self.embeddings(text) for text in self.texts}
        self.samples = self.texts["calibration"]

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
        found = {t: self.embeddings(t) for t in self.texts}
        for name in self.names:
            self.model.get_parameter(name).copy_(self.weights[name])
        return {t: decibels(self.exact[t], found[t]) for t in self.texts}


class Small:
    """A small model made here: what it is converted with, its samples, and its outputs for other inputs."""

    def __init__(self, name, model, folder, arguments, rule, samples, inputs, outputs):
        model.save_pretrained(folder)
        self.name, self.folder, self.arguments, self.rule = name, folder, arguments, rule
        self.model, self.samples, self.inputs, self.outputs = model, samples, inputs, outputs
        self.weights = {n: p.clone() for n, p in model.state_dict().items()}
        self.exact = {k: outputs(model, x) for k, x in inputs.items()}

    def figures(self, weights):
        self.model.load_state_dict({**self.weights, **{n: w for n, w in weights.items() if n in self.weights}})
        return {k: decibels(self.exact[k], self.outputs(self.model, x)) for k, x in self.inputs.items()}


def small_llama(folder):
    """Reads bytes; trained for a moment, so that its activations are those of a model that has learnt something."""
    def lines(sentences, count=64, length=96):
        text = " ".join(sentences).encode()
        step = (len(text) - length - 1) // count
        return torch.tensor([list(text[i * step : i * step + length]) for i in range(count)])
    torch.manual_seed(5)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=256, hidden_size=128, intermediate_size=352, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=False)).float()
    learnt = lines(docstrings(CALIBRATION) + licenses()[::2], 1024)
    with torch.enable_grad():
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        for _ in range(240):
            batch = learnt[torch.randint(len(learnt), (16,))]
            model(batch, labels=batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    kinds = {"documentation": docstrings(EVALUATION), "prose": prose(), "licenses": licenses()[1::2]}
    return Small("llama", model.eval(), folder, ["--shape", "batch=1,tokens=96,cache=96"], {"match": "model.layers.*", "operator": "linear"},
                 {"input_ids": lines(docstrings(CALIBRATION))}, {k: lines(t) for k, t in kinds.items()},
                 lambda model, tokens: model(tokens).logits)


def small_whisper(folder):
    """An encoder over sums of gliding tones and noise, as the logarithms of mel bands."""
    torch.manual_seed(6)
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=64, num_mel_bins=40, d_model=96, encoder_layers=4, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=384, decoder_ffn_dim=96, max_source_positions=100, max_target_positions=32,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)).float().eval()
    for name, weight in model.named_parameters():
        if weight.ndim > 1 and "positions" not in name:
            weight.copy_(torch.randn_like(weight) * (1.5 / math.sqrt(weight[0].numel())) * torch.randn(len(weight), *[1] * (weight.ndim - 1)).exp().clamp(0.5, 2))
    def features(count, tones, noise):
        bands, time = torch.arange(40)[:, None], torch.arange(200)[None]
        mel = torch.full((count, 40, 200), -1.0) + noise * torch.randn(count, 40, 200)
        for sample in mel:
            for _ in range(tones):
                height, glide, width, start = (float(x) for x in torch.rand(4))
                center = 40 * height + 20 * (glide - 0.5) * time / 200
                sample += 2 * torch.exp(-((bands - center) / (1 + 3 * width)) ** 2) * ((time / 200 > start - 0.3) & (time / 200 < start + 0.3))
        return mel.clamp(-1, 1.5)
    return Small("Whisper-like", model, folder, ["--part", "encoder", "--shape", "batch=1,frames=200"], {"match": "*encoder.layers*", "operator": "linear"},
                 {"input_features": features(24, 3, 0.1)},
                 {"documentation": features(24, 3, 0.1), "prose": features(24, 8, 0.05), "licenses": features(24, 1, 0.4)},
                 lambda model, mel: model.model.encoder(mel).last_hidden_state)


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


def accelc_weights(accelc, subject, scratch, scheme, options=()):
    recipe, package, weights = (f"{scratch}/{n}" for n in ("recipe.json", "package.accelpkg", "weights.safetensors"))
    # A target chooses for what no rule fits.
    pathlib.Path(recipe).write_text(json.dumps(
        {"default": scheme, "rules": [{"match": name, "compress": "stored"} for name in subject.others]} if options else
        {"default": "stored", "rules": [{**subject.rule, "compress": scheme}]}))
    samples = f"{scratch}/samples.safetensors"
    save_file({k: v.contiguous() for k, v in subject.samples.items()}, samples)
    calibrated = ["--calibrate", samples] if "method=" in scheme or options else []
    start = time.perf_counter()
    subprocess.run([accelc, "convert", str(subject.folder), *subject.arguments, "--recipe", recipe, "--no-cache", "--quiet",
                    *calibrated, *options, "-o", package], check=True)
    seconds = time.perf_counter() - start
    subprocess.run([accelc, "decompress", package, "-o", weights, "--quiet"], check=True)
    return {n: w.float() for n, w in load_file(weights).items()}, seconds


KINDS = ["documentation", "prose", "licenses"]


class Table:
    """Prints lines, and remembers whether one is not as it has to be."""
    failed = False

    def line(self, label, figures, seconds, least=None, floor=None):
        """`least` for the first kind of text; `floor`: a line that none of the figures may be below."""
        bad = least is not None and figures[KINDS[0]] < least or floor is not None and any(figures[t] < floor[t] for t in KINDS)
        self.failed |= bad
        note = f"  ({'FAIL' if bad else 'ok'}: at least {least})" if least is not None else "  (FAIL: below the form without samples)" if bad else ""
        print(f"{label:58s} {''.join(f'{figures[t]:14.2f}' for t in KINDS)} {seconds:8.1f}{note}", flush=True)


def measure(table, accelc, subject, scratch, schemes):
    known = {}
    for scheme, least in schemes:
        weights, seconds = accelc_weights(accelc, subject, scratch, scheme)
        known[scheme] = subject.figures(weights)
        free = re.sub("[:,]method=.*", "", scheme)
        table.line(f"{subject.name}: {scheme}", known[scheme], seconds, least, known[free] if free != scheme else None)
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accelc")
    parser.add_argument("minilm", type=pathlib.Path)
    parser.add_argument("--accelc-only", action="store_true", help="leave the methods in torch out")
    options = parser.parse_args()
    folder = options.minilm / "model" if (options.minilm / "model").exists() else options.minilm
    subject, table = Subject(folder), Table()
    print(f"{'SQNR of the outputs in dB':58s} {''.join(f'{kind:>14s}' for kind in KINDS)}  seconds")

    if not options.accelc_only:
        moments = subject.moments()
        for label, store in torch_methods(subject.weights, moments):
            start = time.perf_counter()
            weights = {name: store(name) for name in subject.names}
            table.line(f"torch: {label}", subject.figures(weights), time.perf_counter() - start)
    with tempfile.TemporaryDirectory() as scratch:
        known = [measure(table, options.accelc, subject, scratch, SCHEMES)]
        for bits, least in TARGETS:
            weights, seconds = accelc_weights(options.accelc, subject, scratch, "palette:bits=4", ("--target-bits", str(bits)))
            table.line(f"{subject.name}: --target-bits {bits}", subject.figures(weights), seconds, least)
        for make in (small_llama, small_whisper):
            made = make(f"{scratch}/{make.__name__}")
            known.append(measure(table, options.accelc, made, scratch, [(scheme, None) for scheme, _ in SCHEMES]))
    for scheme, _ in SCHEMES:
        mean = {kind: sum(figures[scheme][kind] for figures in known) / len(known) for kind in KINDS}
        table.line(f"mean of the three models: {scheme}", mean, 0)
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
