"""Makes Tests/Fixtures/bert_*: tiny seeded checkpoints as Hugging Face would ship them, each with goldens of transformers.

usage: fixtures.py [NAME...]       (default: all; wants torch, transformers, safetensors, numpy)
The bytes depend on the seeds below and on the versions of those packages only. Tests/Fixtures/README.md says what each is for.
"""

import json
import pathlib
import shutil
import sys
import zlib

import numpy
import safetensors.torch
import torch
import transformers
from transformers import BertConfig

import cases

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures"

SMALL = dict(
    hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=100,
    vocab_size=131, max_position_embeddings=40, type_vocab_size=2)
TINY = dict(SMALL, hidden_size=24, num_hidden_layers=1, num_attention_heads=4, intermediate_size=56, vocab_size=67)

# name: class, configuration, batch of sequence lengths (the longest is the sequence dimension), and what else sets it apart
FIXTURE = {
    "bert_base": dict(kind="BertModel", config=dict(SMALL, hidden_act="gelu"), lengths=[19, 7, 1]),
    "bert_mlm": dict(kind="BertForMaskedLM", config=dict(SMALL, hidden_act="gelu_new"), lengths=[11, 4]),
    "bert_mlm_untied": dict(kind="BertForMaskedLM", config=dict(TINY, tie_word_embeddings=False), lengths=[9, 9]),
    "bert_seqcls": dict(kind="BertForSequenceClassification", config=dict(SMALL, num_labels=5), lengths=[16, 16, 3, 8]),
    "bert_sentence_mean": dict(kind="BertModel", config=TINY, lengths=[13, 2, 6], pooling=dict(mode="mean", normalise=True)),
    "bert_sentence_cls": dict(kind="BertModel", config=TINY, lengths=[5, 8], pooling=dict(mode="cls", normalise=True)),
    "bert_sentence_plain": dict(kind="BertModel", config=TINY, lengths=[10], pooling=dict(mode="mean", normalise=False)),
    "bert_old_names": dict(kind="BertForMaskedLM", config=dict(SMALL, layer_norm_eps=1e-5), lengths=[12, 5], old_names=True),
    "bert_prefixed": dict(kind="BertModel", config=dict(TINY, type_vocab_size=3), lengths=[7, 6], prefixed=True),
    "bert_sharded": dict(kind="BertModel", config=SMALL, lengths=[8, 3], shard="40KB"),
    "bert_float16": dict(kind="BertModel", config=SMALL, lengths=[14, 9], dtype=torch.float16),
    "bert_bfloat16": dict(kind="BertForSequenceClassification", config=dict(SMALL, num_labels=1), lengths=[6], dtype=torch.bfloat16),
    "bert_relu": dict(kind="BertModel", config=dict(TINY, hidden_act="relu"), lengths=[6, 4]),
    "bert_gelu_fast": dict(kind="BertModel", config=dict(TINY, hidden_act="gelu_fast"), lengths=[6, 4]),
    "bert_gelu_pytorch_tanh": dict(kind="BertModel", config=dict(TINY, hidden_act="gelu_pytorch_tanh"), lengths=[6, 4]),
    "bert_quick_gelu": dict(kind="BertModel", config=dict(TINY, hidden_act="quick_gelu"), lengths=[6, 4]),
}


def draw(name, shape, seed):
    return torch.from_numpy(numpy.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)).float()


def redraw(model, seed):
    """Every gain, bias and matrix anew, so that a dropped, swapped or transposed tensor shows in the outputs."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = draw(name, tuple(parameter.shape), seed)
            if name.endswith("LayerNorm.weight"):
                parameter.copy_(1 + 0.2 * noise)
            elif parameter.ndim == 1:
                parameter.copy_(0.1 * noise)
            elif "embeddings" in name:
                parameter.copy_(0.5 * noise)
            else:
                parameter.copy_(noise * 1.1 / parameter.shape[1] ** 0.5)


def batch(config, lengths, seed):
    """Random tokens; rows shorter than the longest are padded and masked; a second segment from the middle of each row."""
    shape, columns = (len(lengths), max(lengths)), torch.arange(max(lengths))
    generator = numpy.random.default_rng([seed, 0])
    mask = (columns < torch.tensor(lengths)[:, None]).long()
    tokens = torch.from_numpy(generator.integers(1, config.vocab_size, shape))
    kinds = torch.from_numpy(generator.integers(1, config.type_vocab_size, shape)) * (columns >= torch.tensor(lengths)[:, None] // 2)
    return {"input_ids": tokens * mask + config.pad_token_id * (1 - mask), "attention_mask": mask, "token_type_ids": kinds}


def rename(path, seed, change):
    tensors = safetensors.torch.load_file(path)
    safetensors.torch.save_file(change(tensors), path, metadata={"format": "pt"})


def old_names(tensors, seed, hidden):
    """Names as the first BERT checkpoints have them, and tensors of heads that the class does not use."""
    renamed = {
        n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for n, t in tensors.items()
    }
    unused = {"bert.pooler.dense.weight": (hidden, hidden), "bert.pooler.dense.bias": (hidden,),
              "cls.seq_relationship.weight": (2, hidden), "cls.seq_relationship.bias": (2,)}
    return renamed | {n: draw(n, s, seed) for n, s in unused.items()}


def prefixed(tensors, seed, hidden, positions):
    """The base model under the prefix that a whole model gives it, with stored position ids and a head nobody asks for."""
    unused = {"bert.embeddings.position_ids": torch.arange(positions)[None], "classifier.weight": draw("classifier", (2, hidden), seed)}
    return {f"bert.{n}": t for n, t in tensors.items()} | unused


def write_modules(folder, hidden, mode, normalise):
    """What sentence-transformers lays beside a checkpoint."""
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")] + [("2_Normalize", "Normalize")] * normalise
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    pooling = {
        "word_embedding_dimension": hidden,
        "pooling_mode_cls_token": mode == "cls",
        "pooling_mode_mean_tokens": mode == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    (folder / "1_Pooling").mkdir()
    (folder / "modules.json").write_text(json.dumps(modules, indent=2) + "\n")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling, indent=2) + "\n")


def make(name):
    what = FIXTURE[name]
    seed = zlib.crc32(name.encode()) % 10_000
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    config = BertConfig(**what["config"])
    kind = getattr(transformers, what["kind"])
    model = kind(config)
    redraw(model, seed)
    model.to(what.get("dtype", torch.float32)).save_pretrained(folder, max_shard_size=what.get("shard", "1GB"))
    stored = folder / "model.safetensors"
    if what.get("old_names"):
        rename(stored, seed, lambda tensors: old_names(tensors, seed, config.hidden_size))
    if what.get("prefixed"):
        rename(stored, seed, lambda t: prefixed(t, seed, config.hidden_size, config.max_position_embeddings))
    if pooling := what.get("pooling"):
        write_modules(folder, config.hidden_size, **pooling)
    loaded, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    if report["missing_keys"] or report["mismatched_keys"]:
        sys.exit(f"{name}: transformers did not find {report['missing_keys']} {report['mismatched_keys']}")
    return cases.write(
        folder, loaded, batch(config, what["lengths"], seed), pooling, seed=seed, dist="lively", kind=what["kind"],
        unused=sorted(report["unexpected_keys"]))


def main(names):
    unknown = set(names) - set(FIXTURE)
    if unknown:
        sys.exit(f"no fixture is called {', '.join(unknown)}; there are {', '.join(FIXTURE)}")
    for name in names or FIXTURE:
        case = make(name)
        size = sum(p.stat().st_size for p in (FIXTURES / name).rglob("*") if p.is_file())
        worst = {n: f"{f['max_abs_fp32_vs_64'] / f['ref_rms']:.1e}" for n, f in case["fp32_noise"].items()}
        print(f"{name:24} {size:8} bytes  {worst} {case['unused'] or ''}")


if __name__ == "__main__":
    main(sys.argv[1:])
