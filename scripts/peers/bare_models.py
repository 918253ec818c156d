"""Every class of every family of transformers, with all of its parts, against transformers: bare models, heads, and each function of a
configuration.

usage: bare_models.py ACCELC [MINILM] [CLASS...]      (wants torch, transformers, safetensors)
Each class is a tiny model with seeded weights. Besides the configuration as it is, each activation and each epsilon of the configuration is
changed on its own: transformers reads some of these fields in one place, and has a function of its own in another. Outputs with the name
and the meaning of one of transformers have to agree to 90 dB. A changed field has to change the output there, or nowhere.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file

    import configurations
    from configurations import BERT, CLIP, DISTILBERT, GEMMA3, GPT2, MODERN, SMALL, TEXT, TOWER, WAV2VEC2, WHISPER, noise, sqnr
except ImportError as error:
    print(f"bare_models: skipped, since {error.name} is missing", file=sys.stderr)
    sys.exit(3)

warnings.filterwarnings("ignore")
ACCELC = sys.argv[1]
ENOUGH = 90.0
IMAGE = dict(TOWER, image_size=12, patch_size=6)
SIGLIP = dict(
    text_config=dict(TOWER, vocab_size=47, max_position_embeddings=9, projection_size=24, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    vision_config=IMAGE)
HEADED = dict(SMALL, head_dim=8)
MOONSHINE = dict(
    hidden_size=16, intermediate_size=24, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1, encoder_num_attention_heads=2,
    decoder_num_attention_heads=2, vocab_size=47, max_position_embeddings=16, pad_token_id=2)
CASES = {
    "LlamaModel": SMALL, "LlamaForCausalLM": SMALL, "MistralModel": SMALL, "MistralForCausalLM": SMALL, "Qwen2Model": SMALL,
    "Qwen2ForCausalLM": SMALL, "Qwen3Model": HEADED, "Qwen3ForCausalLM": HEADED, "GemmaModel": HEADED, "GemmaForCausalLM": HEADED,
    "Gemma3TextModel": GEMMA3, "Gemma3ForCausalLM": GEMMA3, "Phi3Model": SMALL, "Phi3ForCausalLM": SMALL, "GPT2Model": GPT2,
    "GPT2LMHeadModel": GPT2, "WhisperModel": WHISPER, "WhisperForConditionalGeneration": WHISPER, "BertModel": BERT,
    "BertForMaskedLM": BERT, "BertForSequenceClassification": BERT, "DistilBertModel": DISTILBERT, "DistilBertForMaskedLM": DISTILBERT,
    "DistilBertForSequenceClassification": DISTILBERT, "RobertaModel": BERT, "RobertaForMaskedLM": BERT,
    "RobertaForSequenceClassification": BERT, "XLMRobertaModel": BERT, "XLMRobertaForMaskedLM": BERT,
    "XLMRobertaForSequenceClassification": BERT, "MPNetModel": TEXT, "MPNetForMaskedLM": TEXT, "MPNetForSequenceClassification": TEXT,
    "ModernBertModel": MODERN, "ModernBertForMaskedLM": MODERN, "ModernBertForSequenceClassification": MODERN,
    "ViTModel": IMAGE, "ViTForImageClassification": IMAGE, "CLIPModel": CLIP, "CLIPTextModel": CLIP["text_config"],
    "CLIPTextModelWithProjection": CLIP["text_config"], "CLIPVisionModel": CLIP["vision_config"],
    "CLIPVisionModelWithProjection": CLIP["vision_config"], "SiglipModel": SIGLIP, "SiglipVisionModel": IMAGE, "Wav2Vec2Model": WAV2VEC2,
    "Wav2Vec2ForCTC": WAV2VEC2, "HubertModel": WAV2VEC2, "HubertForCTC": WAV2VEC2,
    "Wav2Vec2ForSequenceClassification": WAV2VEC2, "HubertForSequenceClassification": dict(WAV2VEC2, use_weighted_layer_sum=True),
    "ModernBertForTokenClassification": MODERN, "ModernBertForQuestionAnswering": MODERN, "ModernBertForMultipleChoice": MODERN,
    "BertForMultipleChoice": BERT, "DistilBertForMultipleChoice": DISTILBERT, "RobertaForMultipleChoice": BERT,
    "MPNetForMultipleChoice": TEXT, "MoonshineModel": MOONSHINE, "MoonshineForConditionalGeneration": MOONSHINE,
}
# Layer norms of features, and norms first.
STABLE = dict(WAV2VEC2, feat_extract_norm="layer", do_stable_layer_norm=True, conv_bias=True)
for kind in ("Wav2Vec2Model", "HubertModel"):
    CASES[f"{kind} stable"] = STABLE
# The numbers of dimensions; images and texts of one batch are the same number.
NUMBERS = dict(batch=1, choices=2, images=1, texts=1, sequence=9, tokens=9, cache=9, frames=16, samples=60)
MOONSHINE_SAMPLES = 1300  # two states of its encoder
# What transformers calls the outputs that have another name in a result of accelc.
RENAMED = {"encoder.last_hidden_state": "encoder_last_hidden_state", "decoder.last_hidden_state": "last_hidden_state"}


def changes(config, path=()):
    """Each field that chooses a function or an epsilon: its path, and another value."""
    for key, value in config.items():
        if isinstance(value, dict) and key in ("text_config", "vision_config"):
            yield from changes(value, (*path, key))
        elif isinstance(value, str) and ("act" in key.split("_") or "activation" in key):
            for other in ("relu", "tanh"):
                if other != value:
                    yield (*path, key), other
        elif isinstance(value, float) and ("eps" in key.split("_") or "epsilon" in key.split("_")):
            yield (*path, key), 0.3


def inputs(kind):
    ids = torch.tensor([[1, 5, 9, 13, 21, 34, 40, 44, 2]])
    if kind.startswith("Whisper"):
        return dict(input_features=noise((1, 6, 16), 7), decoder_input_ids=ids)
    if kind.startswith("Moonshine"):
        return dict(input_values=noise((1, MOONSHINE_SAMPLES), 7), decoder_input_ids=ids)
    if kind.startswith(("Wav2Vec2", "Hubert")):
        return dict(input_values=noise((1, 60), 7))
    pixels = noise((1, 3, 12, 12), 7)
    if kind.startswith("ViT") or "Vision" in kind:
        return dict(pixel_values=pixels)
    if kind.startswith("Siglip"):
        return dict(input_ids=ids, pixel_values=pixels)
    if kind.endswith("MultipleChoice"):
        ids = torch.stack([ids, ids.flip(1)], 1)
    texts = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
    if kind.startswith("CLIP"):
        return texts if "Text" in kind else dict(texts, pixel_values=pixels)
    return texts if any(word in kind for word in ("Bert", "Roberta", "MPNet")) else dict(input_ids=ids)


def build(kind, base, folder):
    torch.manual_seed(3)
    made = getattr(transformers, kind)
    model = made(made.config_class(**copy.deepcopy(base)))
    with torch.no_grad():
        for index, (name, tensor) in enumerate(model.named_parameters()):
            if tensor.dim() < 2 or "bias" in name:  # what starts as 0 or 1 would hide mistakes
                tensor.add_(noise(tensor.shape, index) * 0.2)
            elif not name.endswith("embeddings.weight") and tensor.std() < 0.05:
                tensor.add_(noise(tensor.shape, index) * 0.2)
    model.save_pretrained(folder)


def expected(kind, folder):
    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        result = model(**inputs(kind))
    return {name: value for name, value in result.items() if isinstance(value, torch.Tensor)}


def accelc(*words):
    done = subprocess.run([ACCELC, *map(str, words), "--quiet"], capture_output=True, text=True)
    if done.returncode:
        raise configurations.Rejected(done.stderr.strip())
    return done.stdout


def found(kind, folder, scratch):
    """The outputs of all functions, in one run where they work together."""
    described = json.loads(subprocess.run([ACCELC, "inspect", folder, "--json"], capture_output=True, text=True).stdout)
    parts = [part["name"] for part in described["parts"]]
    names = sorted({dimension["name"] for part in described["parts"] for dimension in part["dimensions"]})
    package = scratch / "p.accelpkg"
    numbers = dict(NUMBERS, samples=MOONSHINE_SAMPLES) if kind.startswith("Moonshine") else NUMBERS
    shape = ",".join(f"{name}={numbers[name]}" for name in names)
    accelc("convert", folder, *[word for part in parts for word in ("--part", part)], "--shape", shape, "--compress", "float32", "--no-cache",
           "-o", package)
    manifest = json.loads((package / "manifest.json").read_text())
    feed = dict(inputs(kind), position=torch.zeros(1, dtype=torch.int64))
    if kind.startswith("Moonshine"):
        feed["length"] = torch.tensor([MOONSHINE_SAMPLES])
    if "input_ids" in feed:
        feed["token_type_ids"] = torch.zeros_like(feed["input_ids"])
    outputs = {}
    together = kind.startswith(("Whisper", "Moonshine")) or len(manifest["functions"]) == 1
    for function in [None] if together else manifest["functions"]:
        declared = {value["name"] for one in manifest["functions"] if function in (None, one) for value in one["inputs"]}
        save_file({name: value.contiguous() for name, value in feed.items() if name in declared}, scratch / "in.safetensors")
        more = [] if function is None else ["--function", function["name"]]
        accelc("run", package, "--inputs", scratch / "in.safetensors", *more, "--outputs", scratch / "out.safetensors")
        outputs |= load_file(scratch / "out.safetensors")
    return outputs


def compare(kind, folder, scratch):
    """The worst figure over outputs, and the outputs that were compared."""
    theirs, ours = expected(kind, folder), found(kind, folder, scratch)
    if kind in ("WhisperForConditionalGeneration", "MoonshineForConditionalGeneration"):
        theirs["last_hidden_state"] = theirs["encoder_last_hidden_state"]
    figures = {}
    for name, value in ours.items():
        other = theirs.get(RENAMED.get(name, name))
        if other is None or name.startswith(("cross_", "sentence_")):
            continue
        # CLIP's embeddings are normalised behind the towers.
        if name in ("image_embeds", "text_embeds") and kind in ("CLIPModel", "SiglipModel"):
            value = value / value.norm(dim=-1, keepdim=True)
        if tuple(value.shape) != tuple(other.shape):
            return 0.0, [f"{name} {tuple(value.shape)} for {tuple(other.shape)}"], theirs
        figures[name] = sqnr(value, other)
    if not figures:
        return 0.0, [f"nothing among {sorted(ours)} and {sorted(theirs)}"], theirs
    return min(figures.values()), sorted(figures), theirs


def main():
    wanted = [word for word in sys.argv[2:] if not pathlib.Path(word).is_dir()]
    failed, count = [], 0
    for title, base in CASES.items():
        kind = title.split()[0]
        if wanted and kind not in wanted:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            folder = scratch / "model"
            build(kind, base, folder)
            own = json.loads((folder / "config.json").read_text())
            whole = getattr(transformers, kind).config_class.from_pretrained(folder).to_dict()
            rows, plain = [], None
            for path, other in [((), None), *changes(whole)]:
                config = copy.deepcopy(own)
                target = config
                for key in path[:-1]:
                    target = target[key]
                if path:
                    target[path[-1]] = other
                (folder / "config.json").write_text(json.dumps(config))
                words = f"{title}{' ' + '.'.join(path) + f' {other}' if path else ''}"
                try:
                    figure, names, theirs = compare(kind, folder, scratch)
                except configurations.Rejected as rejection:
                    rows.append((words, f"rejected: {str(rejection)[-120:]}", False))
                    continue
                plain = theirs if plain is None else plain
                inert = path and all(torch.equal(value, plain[name]) for name, value in theirs.items())
                rows.append((words, f"{figure:.1f} dB ({', '.join(names)}){' inert' if inert else ''}", figure >= ENOUGH))
        for words, what, good in rows:
            count += 1
            print(f"  {'ok  ' if good else 'FAIL'} {words}: {what}", flush=True)
            failed += [] if good else [words]
    if failed:
        sys.exit(f"bare_models: {len(failed)} failed: {', '.join(failed)}")
    print(f"bare_models: {count} cases agree with transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
