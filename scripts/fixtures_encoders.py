"""Makes Tests/Fixtures/{distilbert,bert_pretraining,camembert,roberta,xlmr,mpnet,modernbert,vit,clip,siglip}_*: tiny seeded encoders, each with goldens of transformers.

usage: fixtures_encoders.py [NAME...]       (default: all; wants torch, transformers, safetensors, numpy)
"""

import shutil
import sys
import zlib

import numpy
import torch
import transformers

import cases
import fixtures

WORDS = dict(
    hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, vocab_size=61,
    max_position_embeddings=24)
DISTIL = dict(dim=24, n_layers=2, n_heads=4, hidden_dim=44, vocab_size=59, max_position_embeddings=20, activation="gelu")
ROBERTA = dict(WORDS, layer_norm_eps=1e-5, type_vocab_size=1)
MODERN = dict(
    WORDS, num_hidden_layers=4, num_attention_heads=2, hidden_activation="gelu", global_attn_every_n_layers=3,
    local_attention=6, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
IMAGE = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, image_size=20, patch_size=6)
CLIP_TEXT = dict(WORDS, hidden_size=30, max_position_embeddings=9, bos_token_id=1, hidden_act="quick_gelu")

# name: class, configuration, and lengths of a batch of texts or the number of images; choices: the number of texts in a group
FIXTURE = {
    "distilbert_model": dict(kind="DistilBertModel", config=DISTIL, lengths=[11, 4]),
    "distilbert_mlm": dict(kind="DistilBertForMaskedLM", config=DISTIL, lengths=[7, 9]),
    "distilbert_seqcls": dict(kind="DistilBertForSequenceClassification", config=dict(DISTIL, num_labels=3), lengths=[6, 2, 8]),
    "distilbert_answers": dict(kind="DistilBertForQuestionAnswering", config=DISTIL, lengths=[7, 4]),
    "distilbert_choice": dict(kind="DistilBertForMultipleChoice", config=DISTIL, lengths=[5, 8, 3, 7], choices=2),
    "bert_choice": dict(kind="BertForMultipleChoice", config=WORDS, lengths=[7, 4, 9, 2, 6, 8], choices=3),
    "camembert_choice": dict(kind="CamembertForMultipleChoice", config=ROBERTA, lengths=[6, 9], choices=2, holes=True),
    "mpnet_choice": dict(kind="MPNetForMultipleChoice", config=ROBERTA, lengths=[9, 4, 6, 5], choices=2),
    "bert_pretraining": dict(kind="BertForPreTraining", config=WORDS, lengths=[9, 5]),
    "camembert_tokens": dict(kind="CamembertForTokenClassification", config=dict(ROBERTA, num_labels=5), lengths=[6, 9]),
    "roberta_model": dict(kind="RobertaModel", config=ROBERTA, lengths=[13, 5], holes=True),
    "roberta_mlm": dict(kind="RobertaForMaskedLM", config=ROBERTA, lengths=[8, 3]),
    "roberta_seqcls": dict(kind="RobertaForSequenceClassification", config=dict(ROBERTA, num_labels=4), lengths=[5, 9]),
    "xlmr_model": dict(kind="XLMRobertaModel", config=dict(ROBERTA, type_vocab_size=2, pad_token_id=3), lengths=[6, 10]),
    "xlmr_mlm": dict(kind="XLMRobertaForMaskedLM", config=ROBERTA, lengths=[7, 2]),
    # Longer than 128 tokens, where distances share the last bucket.
    "mpnet_model": dict(kind="MPNetModel", config=dict(ROBERTA, max_position_embeddings=160), lengths=[150, 31]),
    "mpnet_mlm": dict(kind="MPNetForMaskedLM", config=ROBERTA, lengths=[9, 20]),
    "mpnet_seqcls": dict(kind="MPNetForSequenceClassification", config=dict(ROBERTA, num_labels=3), lengths=[5, 12]),
    "modernbert_model": dict(kind="ModernBertModel", config=MODERN, lengths=[14, 5]),
    "modernbert_mlm": dict(kind="ModernBertForMaskedLM", config=MODERN, lengths=[9, 12]),
    "modernbert_seqcls": dict(
        kind="ModernBertForSequenceClassification", lengths=[6, 10], config=dict(
            MODERN, num_labels=3, classifier_pooling="mean", norm_bias=True, attention_bias=True, mlp_bias=True,
            classifier_bias=True)),
    "modernbert_tokens": dict(kind="ModernBertForTokenClassification", config=dict(MODERN, num_labels=3), lengths=[11, 7]),
    "modernbert_answers": dict(kind="ModernBertForQuestionAnswering", config=dict(MODERN, classifier_bias=True), lengths=[5, 9]),
    # The first text is padded on the left: its first token is not that of the row.
    "modernbert_choice": dict(kind="ModernBertForMultipleChoice", config=MODERN, lengths=[8, 10, 4, 9], choices=2, left=[0]),
    "vit_leftover": dict(kind="ViTForImageClassification", config=dict(IMAGE, qkv_bias=False, num_labels=5), images=1),
    "vit_tall": dict(kind="ViTModel", config=dict(IMAGE, image_size=[18, 12], num_channels=1, hidden_act="gelu_new"), images=3),
    "siglip_headless": dict(kind="SiglipVisionModel", config=dict(IMAGE, image_size=18, vision_use_head=False), images=2),
    "clip_legacy": dict(
        kind="CLIPModel", images=3, lengths=[9, 6], config=dict(
            projection_dim=18, vision_config=IMAGE, text_config=dict(CLIP_TEXT, eos_token_id=2, pad_token_id=1))),
    "clip_end": dict(
        kind="CLIPModel", images=1, lengths=[8, 5, 7], config=dict(
            projection_dim=20, vision_config=dict(IMAGE, image_size=12, hidden_act="gelu"),
            text_config=dict(CLIP_TEXT, eos_token_id=41, pad_token_id=41))),
    "siglip_both": dict(
        kind="SiglipModel", images=2, lengths=[7, 7, 7], config=dict(
            vision_config=dict(IMAGE, image_size=12), text_config=dict(
                WORDS, max_position_embeddings=7, projection_size=24, bos_token_id=1, eos_token_id=2, pad_token_id=1))),
    "cliptext_projected": dict(
        kind="CLIPTextModelWithProjection", lengths=[9, 4],
        config=dict(CLIP_TEXT, projection_dim=14, eos_token_id=41, pad_token_id=1)),
    "clipvision_plain": dict(kind="CLIPVisionModel", config=dict(IMAGE, image_size=18), images=2),
}


def redraw(model, seed):
    """Every gain, bias and matrix anew, so that a dropped, swapped or transposed tensor shows in the outputs."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = fixtures.draw(name, tuple(parameter.shape), seed)
            if "norm" in name.lower() and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.2 * noise)
            elif "embed" in name and "patch" not in name or name.endswith("probe") or parameter.ndim < 2:
                parameter.copy_(0.5 * noise)
            else:
                parameter.copy_(noise * 1.1 / parameter[0].numel() ** 0.5)


def texts(config, lengths, seed, holes=False, left=()):
    """Random tokens, padded and masked; with `holes` padding tokens in between that are not masked, rows of `left` padded there."""
    shape, columns = (len(lengths), max(lengths)), torch.arange(max(lengths))
    generator = numpy.random.default_rng([seed, 0])
    mask = (columns < torch.tensor(lengths)[:, None]).long()
    for row in left:
        mask[row] = mask[row].flip(0)
    pad = config.pad_token_id
    tokens = torch.from_numpy(generator.integers(4, config.vocab_size, shape))
    if config.model_type == "clip_text_model":
        # One end token a text, the largest of all where the configuration is an early one.
        end = config.vocab_size - 1 if config.eos_token_id == 2 else config.eos_token_id
        tokens = tokens.clamp(max=min(end, config.vocab_size - 1) - 1)
        tokens[columns == torch.tensor(lengths)[:, None] - 1] = end
    tokens = tokens * mask + pad * (1 - mask)
    if holes:
        tokens[0, 3] = pad
    inputs = {"input_ids": tokens, "attention_mask": mask}
    if config.model_type == "siglip_text_model":
        del inputs["attention_mask"]  # padding is not masked, as the model was trained
    if getattr(config, "type_vocab_size", 1) > 1:
        inputs["token_type_ids"] = torch.from_numpy(generator.integers(0, config.type_vocab_size, shape))
    return inputs


def images(config, count, seed):
    extent = config.image_size
    height, width = extent if isinstance(extent, (list, tuple)) else (extent, extent)
    shape = (count, config.num_channels, height, width)
    return {"pixel_values": torch.from_numpy(numpy.random.default_rng([seed, 1]).standard_normal(shape)).float()}


def make(name):
    what = FIXTURE[name]
    seed = zlib.crc32(name.encode()) % 10_000
    folder = fixtures.FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    kind = getattr(transformers, what["kind"])
    config = kind.config_class(**what["config"])
    model = kind(config)
    redraw(model, seed)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    loaded, report = kind.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True,
        attn_implementation="sdpa" if kind._supports_sdpa else "eager")
    if report["missing_keys"] or report["mismatched_keys"] or report["unexpected_keys"]:
        sys.exit(f"{name}: {report}")
    inputs = {}
    if "images" in what:
        inputs |= images(getattr(config, "vision_config", config), what["images"], seed)
    if "lengths" in what:
        inputs |= texts(getattr(config, "text_config", config), what["lengths"], seed, what.get("holes", False), what.get("left", ()))
    if choices := what.get("choices"):
        inputs = {name: tokens.reshape(-1, choices, tokens.shape[-1]) for name, tokens in inputs.items()}
    cases.write(folder, loaded, inputs, family=config.model_type, seed=seed, dist="lively", kind=what["kind"])
    return sum(p.stat().st_size for p in folder.iterdir())


if __name__ == "__main__":
    cases.make_all(sys.argv[1:] or FIXTURE, make)
