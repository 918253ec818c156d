"""Makes Tests/Fixtures/{sentence,reranker}_* and twoway_gemma3: tiny seeded sentence encoders, and decoders that classify texts, each with goldens of
transformers and sentence-transformers.

usage: fixtures_sentences.py [NAME...]       (default: all; wants torch, transformers, sentence-transformers, safetensors, numpy)
Hidden states and logits are those of the class of transformers; the modules after it are those of sentence-transformers. Texts are
padded on the right and on the left.
"""

import json
import shutil
import sys
import zlib

import numpy
import sentence_transformers.models as modules
import torch
import transformers

import cases
import fixtures
import fixtures_decoders

DECODER = dict(fixtures_decoders.SMALL, vocab_size=53, rope_parameters=fixtures_decoders.rope(theta=3000.0))
RIGHT, LEFT = 0, 1

# name: class, configuration, pooling (none: the class has a head), modules after it, and lengths of texts with the side of their padding
FIXTURE = {
    "sentence_qwen3": dict(
        kind="Qwen3Model", config=dict(DECODER, head_dim=10), mode="lasttoken",
        after=[modules.Normalize],
        texts=[(11, RIGHT), (4, RIGHT), (7, LEFT), (1, LEFT)]),
    # Saved with its head, which a sentence encoder does not have, and with a window in one of the layers.
    "sentence_qwen2": dict(
        kind="Qwen2ForCausalLM", config=dict(
            DECODER, use_sliding_window=True, sliding_window=4, max_window_layers=1), mode="mean",
        texts=[(6, LEFT), (9, RIGHT), (3, RIGHT)]),
    "sentence_bert_dense": dict(
        kind="BertModel", config=fixtures.TINY, mode="cls", after=[
            lambda: modules.Dense(24, 10, activation_function=torch.nn.Tanh()), modules.Normalize],
        texts=[(5, RIGHT), (8, RIGHT)]),
    # Tokens attend to those after them, within half of a window in two of three layers: EmbeddingGemma.
    "sentence_gemma3": dict(
        kind="Gemma3TextModel", config=dict(
            fixtures_decoders.SMALL, vocab_size=53, num_hidden_layers=3, head_dim=8, query_pre_attn_scalar=20, sliding_window=6,
            use_bidirectional_attention=True, layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
        mode="mean", after=[
            lambda: modules.Dense(24, 32, bias=False, activation_function=torch.nn.Identity()),
            lambda: modules.Dense(32, 12, bias=False, activation_function=torch.nn.Identity()), modules.Normalize],
        texts=[(12, RIGHT), (5, RIGHT), (8, LEFT)]),
    # The same without modules: hidden states.
    "twoway_gemma3": dict(
        kind="Gemma3TextModel", config=dict(
            fixtures_decoders.SMALL, vocab_size=53, num_hidden_layers=2, head_dim=8, query_pre_attn_scalar=20, sliding_window=5,
            use_bidirectional_attention=True, layer_types=["full_attention", "sliding_attention"]),
        texts=[(9, RIGHT), (9, RIGHT)]),
    # Two poolings, and two dense layers, of which the first has neither bias nor function.
    "sentence_qwen2_dense": dict(
        kind="Qwen2Model", config=DECODER, mode=("mean", "lasttoken"), after=[
            lambda: modules.Dense(48, 30, bias=False, activation_function=torch.nn.Identity()),
            lambda: modules.Dense(30, 14, activation_function=torch.nn.GELU())],
        texts=[(7, RIGHT), (2, LEFT)]),
    # The last token of a text is the padding token, which the class passes over.
    "reranker_qwen3": dict(
        kind="Qwen3ForSequenceClassification", config=dict(DECODER, head_dim=10, num_labels=1, tie_word_embeddings=True),
        texts=[(8, RIGHT), (3, LEFT), (5, RIGHT)], hole=(2, 4)),
    "reranker_llama": dict(
        kind="LlamaForSequenceClassification", config=dict(
            DECODER, attention_bias=True, id2label={0: "no", 1: "perhaps", 2: "yes"}, label2id={"no": 0, "perhaps": 1, "yes": 2}),
        texts=[(6, LEFT), (10, RIGHT)]),
}


class SentenceEncoder(torch.nn.Module):
    def __init__(self, body, parts):
        super().__init__()
        self.body, self.parts = body, torch.nn.ModuleList(parts)

    def forward(self, **inputs):
        features = {"token_embeddings": self.body(**inputs).last_hidden_state, "attention_mask": inputs["attention_mask"]}
        for part in self.parts:
            features = part(features)
        return {"sentence_embedding": features["sentence_embedding"]}


def padded(config, texts, seed, hole=None):
    """Random tokens of texts of these lengths, padded on one side; at `hole` a padding token that is not masked."""
    columns, longest = torch.arange(max(length for length, _ in texts)), max(length for length, _ in texts)
    mask = torch.stack([(columns < n if side == RIGHT else columns >= longest - n).long() for n, side in texts])
    generator = numpy.random.default_rng([seed, 0])
    tokens = torch.from_numpy(generator.integers(4, config.vocab_size, tuple(mask.shape)))
    tokens = tokens * mask + config.pad_token_id * (1 - mask)
    if hole:
        tokens[hole] = config.pad_token_id
    inputs = {"input_ids": tokens, "attention_mask": mask}
    if hasattr(config, "type_vocab_size"):
        inputs["token_type_ids"] = torch.zeros_like(tokens)
    return inputs


def write_modules(folder, parts, width, mode):
    """What sentence-transformers lays beside a checkpoint, as its versions before 6 named it."""
    kinds = ["Transformer"] + [type(part).__name__ for part in parts]
    paths = [""] + [f"{i + 1}_{kind}" for i, kind in enumerate(kinds[1:])]
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(zip(paths, kinds))
    ]
    (folder / "modules.json").write_text(json.dumps(listed, indent=2) + "\n")
    names = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
    pooling = {"word_embedding_dimension": width}
    pooling |= {f"pooling_mode_{name}": name.replace("_tokens", "").replace("_token", "") in mode for name in names}
    for part, path in zip(parts, paths[1:]):
        (folder / path).mkdir()
        if path.endswith("_Pooling"):
            (folder / path / "config.json").write_text(json.dumps(pooling | {"include_prompt": True}, indent=2) + "\n")
        elif path.endswith("_Dense"):
            part.save(str(folder / path))


def make(name):
    what = FIXTURE[name]
    seed = zlib.crc32(name.encode()) % 10_000
    folder = fixtures.FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    kind = getattr(transformers, what["kind"])
    model = kind(kind.config_class(**what["config"]))
    (fixtures if "Bert" in what["kind"] else fixtures_decoders).redraw(model, seed)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    subject = (transformers.AutoModel if "mode" in what else kind).from_pretrained(folder, dtype=torch.float32)
    config = subject.config
    if "mode" in what:
        modes = [what["mode"]] if isinstance(what["mode"], str) else list(what["mode"])
        parts = [modules.Pooling(config.hidden_size, pooling_mode=tuple(modes))]
        parts += [make() for make in what.get("after", [])]
        for index, part in enumerate(parts):
            fixtures_decoders.redraw(part, seed + index)
        write_modules(folder, parts, config.hidden_size, modes)
        subject = SentenceEncoder(subject, parts)
    cases.write(
        folder, subject, padded(config, what["texts"], seed, what.get("hole")), family=config.model_type, seed=seed, dist="lively",
        kind=what["kind"])
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


if __name__ == "__main__":
    cases.make_all(sys.argv[1:] or FIXTURE, make)
