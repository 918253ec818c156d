"""accelc on ambiguous and odd configurations against transformers: the same outputs, or a rejection where that is the answer.

usage: configurations.py ACCELC [MINILM] [CASE...]
Each case is a tiny model with seeded weights whose config.json or tensors are changed by hand. What transformers loads and what
accelc converts have to agree to 90 dB; where a case is to be rejected, accelc has to name the field or tensor.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from safetensors.torch import load_file, save_file

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

ENOUGH = 90.0
TOKENS = 9
TEXT = dict(
    hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=28, vocab_size=47,
    max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, initializer_range=0.2)
SMALL = dict(TEXT, num_key_value_heads=2)
BERT = dict(TEXT, type_vocab_size=2)
DISTILBERT = dict(dim=24, n_layers=2, n_heads=4, hidden_dim=28, vocab_size=47, max_position_embeddings=64, initializer_range=0.2)
MODERN = dict(TEXT, num_hidden_layers=3, local_attention=4, layer_types=["full_attention", "sliding_attention", "sliding_attention"])
WHISPER = dict(
    d_model=24, encoder_layers=1, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=3, encoder_ffn_dim=40,
    decoder_ffn_dim=40, num_mel_bins=6, vocab_size=47, max_source_positions=8, max_target_positions=16, pad_token_id=0,
    bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, init_std=0.2, suppress_tokens=None, begin_suppress_tokens=None)
TOWER = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3)
CLIP = dict(
    projection_dim=20, initializer_factor=8.0,
    text_config=dict(TOWER, vocab_size=47, max_position_embeddings=12, eos_token_id=2, bos_token_id=1, pad_token_id=0),
    vision_config=dict(TOWER, image_size=12, patch_size=6))
GEMMA3 = dict(SMALL, num_hidden_layers=3, head_dim=8, sliding_window=4, query_pre_attn_scalar=20,
              layer_types=["sliding_attention", "full_attention", "sliding_attention"])
WAV2VEC2 = dict(
    TOWER, vocab_size=17, conv_dim=[8, 8], conv_kernel=[4, 3], conv_stride=[2, 2], num_conv_pos_embeddings=4,
    num_conv_pos_embedding_groups=2, initializer_range=0.2)

GPT2 = dict(n_embd=24, n_layer=2, n_head=4, vocab_size=47, n_positions=64, initializer_range=0.2, bos_token_id=1, eos_token_id=2)


def noise(shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def swap(name, other):
    """Tensors by which `name` has other values than it, under `other`."""
    def change(tensors):
        tensors[other] = tensors[name] * 0.5 + noise(tensors[name].shape, 5) * 0.1
    return change


def copy(name, other):
    def change(tensors):
        tensors[other] = tensors[name].clone()
    return change


def rename(name, other):
    def change(tensors):
        tensors[other] = tensors.pop(name)
    return change


def both(*changes):
    def change(tensors):
        for one in changes:
            one(tensors)
    return change


def rope(kind="default", theta=700.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


LLAMA3 = dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0)
LONG = dict(short_factor=[1.0, 1.1, 1.3], long_factor=[1.0, 1.7, 2.9])
WORDS, HEAD = "model.embed_tokens.weight", "lm_head.weight"
GONE = object()


class Case:
    def __init__(self, name, kind, base, fields=None, tensors=None, rejected=None, built=None):
        self.name, self.kind, self.base = name, kind, base
        # fields: what replaces those of config.json (GONE: removed); built: what the model was built with besides.
        self.fields, self.tensors, self.rejected, self.built = fields or {}, tensors, rejected, built or {}


CASES = [
    # tied heads
    Case("tied, and another head", "LlamaForCausalLM", SMALL, {"tie_word_embeddings": True}, swap(WORDS, HEAD), built={"tie_word_embeddings": True}),
    Case("tied, and the same head", "LlamaForCausalLM", SMALL, {}, copy(WORDS, HEAD), built={"tie_word_embeddings": True}),
    Case("tied, and the head alone", "LlamaForCausalLM", SMALL, {}, rename(WORDS, HEAD), built={"tie_word_embeddings": True}),
    Case("not tied, the head alone", "LlamaForCausalLM", SMALL, {}, lambda t: t.pop(WORDS), rejected="embed_tokens.weight"),
    Case("not tied, no head", "LlamaForCausalLM", SMALL, {}, lambda t: t.pop(HEAD), rejected="lm_head.weight"),
    Case("Gemma tied, and another head", "GemmaForCausalLM", dict(SMALL, head_dim=8), {}, swap(WORDS, HEAD)),
    Case("BERT tied, and another head", "BertForMaskedLM", BERT, {},
         swap("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight")),
    Case("BERT tied, and the head alone", "BertForMaskedLM", BERT, {},
         rename("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight")),
    Case("BERT tied, and another bias", "BertForMaskedLM", BERT, {}, swap("cls.predictions.bias", "cls.predictions.decoder.bias")),
    Case("BERT tied, and the decoder's bias alone", "BertForMaskedLM", BERT, {},
         rename("cls.predictions.bias", "cls.predictions.decoder.bias")),
    Case("BERT not tied, two biases", "BertForMaskedLM", BERT, {},
         swap("cls.predictions.bias", "cls.predictions.decoder.bias"), built={"tie_word_embeddings": False}),
    Case("RoBERTa tied, and another head", "RobertaForMaskedLM", BERT, {},
         swap("roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight")),
    Case("RoBERTa tied, and another bias", "RobertaForMaskedLM", BERT, {}, swap("lm_head.bias", "lm_head.decoder.bias")),
    Case("MPNet tied, and another head", "MPNetForMaskedLM", TEXT, {},
         swap("mpnet.embeddings.word_embeddings.weight", "lm_head.decoder.weight")),
    Case("DistilBERT tied, and another head", "DistilBertForMaskedLM", DISTILBERT, {},
         swap("distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight")),
    Case("ModernBERT tied, and another head", "ModernBertForMaskedLM", MODERN, {},
         swap("model.embeddings.tok_embeddings.weight", "decoder.weight")),
    Case("ModernBERT tied, and the head alone", "ModernBertForMaskedLM", MODERN, {},
         rename("model.embeddings.tok_embeddings.weight", "decoder.weight")),
    Case("Whisper tied, and another head", "WhisperForConditionalGeneration", WHISPER, {},
         swap("model.decoder.embed_tokens.weight", "proj_out.weight")),
    Case("Whisper tied, and the head alone", "WhisperForConditionalGeneration", WHISPER, {},
         rename("model.decoder.embed_tokens.weight", "proj_out.weight")),
    # two names of one tensor
    Case("two spellings, equal", "LlamaForCausalLM", SMALL, {}, copy(WORDS, "embed_tokens.weight")),
    Case("two spellings, different", "LlamaForCausalLM", SMALL, {}, swap(WORDS, "embed_tokens.weight"), rejected="embed_tokens.weight"),
    Case("two spellings of BERT, different", "BertForSequenceClassification", BERT, {},
         swap("bert.encoder.layer.0.output.dense.bias", "encoder.layer.0.output.dense.bias"), rejected="output.dense.bias"),
    Case("gamma beside weight, different", "BertModel", BERT, {},
         swap("embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma"), rejected="LayerNorm.gamma"),
    # GPT-2
    Case("GPT-2", "GPT2LMHeadModel", GPT2, {}),
    Case("GPT-2 with an inner width", "GPT2LMHeadModel", GPT2, {}, built={"n_inner": 40}),
    Case("GPT-2 without scaled scores", "GPT2LMHeadModel", GPT2, {"scale_attn_weights": False}),
    Case("GPT-2 scaled by layers", "GPT2LMHeadModel", GPT2, {"scale_attn_by_inverse_layer_idx": True, "reorder_and_upcast_attn": True}),
    Case("GPT-2 with another activation", "GPT2LMHeadModel", GPT2, {"activation_function": "relu"}),
    Case("GPT-2, tied, and another head", "GPT2LMHeadModel", GPT2, {}, swap("transformer.wte.weight", HEAD)),
    Case("GPT-2, not tied", "GPT2LMHeadModel", GPT2, {}, built={"tie_word_embeddings": False}),
    Case("GPT-2 by other names", "GPT2LMHeadModel", GPT2, {"hidden_size": 24, "num_hidden_layers": 2}),
    Case("GPT-2 with cross attention", "GPT2LMHeadModel", GPT2, {"add_cross_attention": True}, rejected="add_cross_attention"),
    # CLIP's early configurations
    Case("CLIP with text_config_dict", "CLIPModel", CLIP, {
        "text_config": dict(CLIP["text_config"], hidden_act="relu", eos_token_id=7), "text_config_dict": CLIP["text_config"]}),
    Case("CLIP with vision_config_dict", "CLIPModel", CLIP, {
        "vision_config": dict(CLIP["vision_config"], hidden_act="relu", layer_norm_eps=0.1), "vision_config_dict": CLIP["vision_config"]}),
    Case("CLIP with a text_config_dict that leaves out the activation", "CLIPModel", CLIP, {
        "text_config": dict(CLIP["text_config"], hidden_act="relu"),
        "text_config_dict": {k: v for k, v in CLIP["text_config"].items() if k != "eos_token_id"} | {"eos_token_id": 2}}),
    Case("CLIP with null in place of a dict", "CLIPModel", CLIP, {"text_config_dict": None, "vision_config_dict": None}),
    Case("CLIP with a text_config_dict alone", "CLIPModel", CLIP, {"text_config": GONE, "text_config_dict": CLIP["text_config"]}),
    # rotary embeddings
    Case("a string in place of rope_scaling", "LlamaForCausalLM", SMALL, {"rope_scaling": "linear"}, rejected="rope_scaling"),
    Case("rope_scaling beside rope_parameters", "LlamaForCausalLM", SMALL, {
        "rope_scaling": {"rope_type": "linear", "factor": 4.0}, "rope_parameters": rope("linear", factor=2.0)}),
    Case("an empty rope_scaling beside rope_parameters", "LlamaForCausalLM", SMALL, {
        "rope_scaling": {}, "rope_parameters": rope("linear", factor=2.0)}),
    Case("rope_theta beside rope_parameters", "LlamaForCausalLM", SMALL, {"rope_theta": 50.0, "rope_parameters": rope()}),
    Case("rope_theta beside rope_scaling", "LlamaForCausalLM", SMALL, {
        "rope_parameters": GONE, "rope_theta": 50.0, "rope_scaling": {"type": "linear", "factor": 2.0}}),
    Case("type beside rope_type", "LlamaForCausalLM", SMALL, {
        "rope_parameters": GONE, "rope_scaling": {"type": "dynamic", "rope_type": "linear", "factor": 2.0}}),
    Case("a share of heads in Llama", "LlamaForCausalLM", SMALL, {"partial_rotary_factor": 0.5}),
    Case("a share of heads in Llama's rope_parameters", "LlamaForCausalLM", SMALL, {"rope_parameters": rope(partial_rotary_factor=0.5)}),
    Case("a share of heads in Llama, linear", "LlamaForCausalLM", SMALL, {
        "partial_rotary_factor": 0.5, "rope_parameters": rope("linear", factor=2.0)}, rejected="partial_rotary_factor"),
    Case("a share of heads, proportional", "LlamaForCausalLM", SMALL, {
        "partial_rotary_factor": 0.7, "rope_parameters": rope("proportional", factor=2.0)}),
    Case("a share of heads in Mistral", "MistralForCausalLM", SMALL, {"partial_rotary_factor": 0.5}),
    Case("a share of heads in Qwen 2", "Qwen2ForCausalLM", SMALL, {"partial_rotary_factor": 0.5}),
    Case("a share of heads in Qwen 3", "Qwen3ForCausalLM", dict(SMALL, head_dim=8), {"partial_rotary_factor": 0.5}),
    Case("a share of heads in Gemma", "GemmaForCausalLM", dict(SMALL, head_dim=8), {"partial_rotary_factor": 0.5}),
    Case("a share of heads in Gemma 3", "Gemma3ForCausalLM", GEMMA3, {"partial_rotary_factor": 0.5}),
    Case("a share of heads in Phi-3", "Phi3ForCausalLM", SMALL, {"partial_rotary_factor": 0.67, "rope_parameters": GONE, "rope_theta": 90.0}),
    Case("Phi-3, linear", "Phi3ForCausalLM", SMALL, {"rope_parameters": rope("linear", factor=2.0)}, rejected="rope_type"),
    Case("Phi-3, the first length outside", "Phi3ForCausalLM", SMALL, {
        "original_max_position_embeddings": 5, "rope_parameters": rope("longrope", original_max_position_embeddings=40, **LONG)}),
    Case("Phi-3, the first length inside alone", "Phi3ForCausalLM", SMALL, {
        "original_max_position_embeddings": GONE, "rope_parameters": rope("longrope", original_max_position_embeddings=5, **LONG)},
        rejected="original_max_position_embeddings"),
    Case("Phi-3, no first length", "Phi3ForCausalLM", SMALL, {
        "original_max_position_embeddings": GONE, "rope_parameters": rope("longrope", **LONG)}),
    Case("Phi-3 by an old name", "Phi3ForCausalLM", SMALL, {
        "original_max_position_embeddings": 5, "rope_parameters": GONE,
        "rope_scaling": dict(type="su", original_max_position_embeddings=5, **LONG)}),
    Case("llama3, the first length outside", "LlamaForCausalLM", SMALL, {
        "original_max_position_embeddings": 16, "rope_parameters": rope("llama3", original_max_position_embeddings=32, **LLAMA3)}),
    Case("llama3, no first length", "LlamaForCausalLM", SMALL, {"rope_parameters": rope("llama3", **LLAMA3)}),
    Case("yarn with null for the factor", "LlamaForCausalLM", SMALL, {
        "rope_parameters": rope("yarn", factor=None, original_max_position_embeddings=16)}),
    Case("yarn with one mscale", "LlamaForCausalLM", SMALL, {
        "rope_parameters": rope("yarn", factor=4.0, original_max_position_embeddings=16, mscale=0.7)}),
    Case("rope_parameters by layer types in Qwen 2", "Qwen2ForCausalLM", SMALL, {
        "rope_parameters": {"full_attention": rope(theta=50.0)}}, rejected="full_attention"),
    Case("rope_parameters by layer types in Llama", "LlamaForCausalLM", SMALL, {
        "rope_parameters": {"full_attention": rope(theta=50.0)}}, rejected="full_attention"),
    Case("flat rope_parameters in Gemma 3", "Gemma3ForCausalLM", GEMMA3, {"rope_parameters": rope("linear", factor=8.0)}, rejected="rope_parameters."),
    Case("flat rope_parameters in ModernBERT", "ModernBertForMaskedLM", MODERN, {"rope_parameters": rope()}, rejected="rope_parameters."),
    Case("Gemma 3 in the old dialect", "Gemma3ForCausalLM", GEMMA3, {
        "rope_parameters": GONE, "rope_theta": 300.0, "rope_local_base_freq": 40.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}),
    Case("Gemma 3, rope_scaling beside rope_parameters", "Gemma3ForCausalLM", GEMMA3, {
        "rope_scaling": {"factor": 4.0},
        "rope_parameters": {"full_attention": rope("linear", factor=2.0), "sliding_attention": rope(theta=40.0)}}),
    Case("Gemma 3, type in rope_scaling", "Gemma3ForCausalLM", GEMMA3, {
        "rope_parameters": GONE, "rope_scaling": {"type": "linear", "factor": 8.0}}, rejected="rope_scaling.type"),
    Case("Gemma 3, yarn that is not truncated", "Gemma3ForCausalLM", GEMMA3, {"rope_parameters": {
        "full_attention": rope("yarn", factor=4.0, original_max_position_embeddings=100, truncate=False), "sliding_attention": rope(theta=40.0)}}),
    Case("Gemma 3, truncate beside layer types", "Gemma3ForCausalLM", GEMMA3, {"rope_parameters": {
        "full_attention": rope("yarn", factor=4.0, original_max_position_embeddings=100), "sliding_attention": rope(theta=40.0),
        "truncate": False}}),
    Case("Gemma 3, a pattern beside layer_types", "Gemma3ForCausalLM", GEMMA3, {"sliding_window_pattern": 2}),
    Case("Gemma 3, a pattern", "Gemma3ForCausalLM", GEMMA3, {"sliding_window_pattern": 2, "layer_types": GONE}),
    # layers
    Case("an unknown layer type in ModernBERT", "ModernBertForMaskedLM", MODERN, {
        "layer_types": ["full_attention", "chunked_attention", "sliding_attention"]}, rejected="layer_types[1]"),
    Case("too few layer types in ModernBERT", "ModernBertForMaskedLM", MODERN, {"layer_types": ["full_attention"]}, rejected="layer_types"),
    Case("an old layer type in ModernBERT", "ModernBertForMaskedLM", MODERN, {
        "layer_types": ["attention", "sliding_attention", "attention"]}),
    Case("an old layer type in Qwen 2", "Qwen2ForCausalLM", SMALL, {"layer_types": ["attention", "full_attention"]}),
    Case("ModernBERT by the pattern", "ModernBertForMaskedLM", MODERN, {"layer_types": GONE, "global_attn_every_n_layers": 2}),
    Case("sliding_window in ModernBERT", "ModernBertForMaskedLM", MODERN, {"sliding_window": 1}, rejected="sliding_window"),
    Case("an unknown pooling of ModernBERT", "ModernBertForSequenceClassification", MODERN, {"classifier_pooling": "max"}, rejected="classifier_pooling"),
    Case("no window of Mistral", "MistralForCausalLM", SMALL, {"sliding_window": None}),
    Case("a window of Mistral", "MistralForCausalLM", SMALL, {"sliding_window": 3}),
    Case("a window of Qwen 2 that is not used", "Qwen2ForCausalLM", SMALL, {"sliding_window": 3, "max_window_layers": 0}),
    Case("a window of Qwen 2", "Qwen2ForCausalLM", SMALL, {
        "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1, "layer_types": GONE}),
    # synonyms and defaults
    Case("null key heads of Qwen 2", "Qwen2ForCausalLM", dict(SMALL, num_key_value_heads=4), {"num_key_value_heads": None}),
    Case("DistilBERT by other names", "DistilBertForMaskedLM", DISTILBERT, {"hidden_size": 24, "num_attention_heads": 4}),
    Case("DistilBERT by contradicting names", "DistilBertForMaskedLM", DISTILBERT, {"num_attention_heads": 2}, rejected="num_attention_heads"),
    Case("Whisper with num_hidden_layers", "WhisperForConditionalGeneration", WHISPER, {"num_hidden_layers": 1}),
    Case("Whisper with contradicting heads", "WhisperForConditionalGeneration", WHISPER, {"num_attention_heads": 2}, rejected="num_attention_heads"),
    Case("wav2vec 2.0 with another number of feature layers", "Wav2Vec2ForCTC", WAV2VEC2, {"num_feat_extract_layers": 1}, rejected="num_feat_extract_layers"),
    Case("Gemma's early gelu", "GemmaForCausalLM", dict(SMALL, head_dim=8), {"hidden_act": "gelu"}),
    Case("Gemma's early gelu beside its later name", "GemmaForCausalLM", dict(SMALL, head_dim=8), {
        "hidden_act": "gelu", "hidden_activation": "gelu_pytorch_tanh"}),
    Case("Gemma with two activations", "GemmaForCausalLM", dict(SMALL, head_dim=8), {"hidden_activation": "relu"}, rejected="hidden_activation"),
    Case("Whisper with another activation", "WhisperForConditionalGeneration", WHISPER, {"activation_function": "relu"}),
    Case("scaled embeddings of Whisper", "WhisperForConditionalGeneration", WHISPER, {"scale_embedding": True}),
    Case("BERT as a decoder", "BertForMaskedLM", BERT, {"is_decoder": True}, rejected="is_decoder"),
    Case("biases that Mistral does not have", "MistralForCausalLM", SMALL, {"attention_bias": True}, rejected="attention_bias"),
    Case("configurations by layer", "LlamaForCausalLM", SMALL, {"per_layer_config": {"1": {"rms_norm_eps": 0.5}}}, rejected="per_layer_config"),
    Case("a misspelled field", "LlamaForCausalLM", SMALL, {"rms_norm_epz": 0.5}, rejected="rms_norm_epz"),
]


def class_of(case):
    return getattr(transformers, case.kind)


def build(case, folder):
    """Saves the model, with what the case changes."""
    torch.manual_seed(3)
    kind = class_of(case)
    model = kind(kind.config_class(**case.base, **case.built))
    with torch.no_grad():
        for index, (name, tensor) in enumerate(model.named_parameters()):
            if tensor.dim() == 1 or "bias" in name:  # what starts as 0 or 1 would hide mistakes
                tensor.add_(noise(tensor.shape, index) * 0.2)
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    for key, value in case.fields.items():
        if value is GONE:
            config.pop(key, None)
        else:
            config[key] = value
    (folder / "config.json").write_text(json.dumps(config))
    if case.tensors:
        tensors = load_file(folder / "model.safetensors")
        case.tensors(tensors)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def inputs(case):
    """What transformers is given; the part that accelc builds (None: all), what it is given, and its shape; the output."""
    ids = torch.tensor([[1, 5, 9, 13, 21, 34, 40, 44, 2]])[:, :TOKENS]
    if case.kind.startswith("CLIP"):
        pixels = noise((1, 3, 12, 12), 7)
        full = dict(input_ids=ids, attention_mask=torch.ones_like(ids), pixel_values=pixels)
        return full, ("model", full, f"images=1,texts=1,sequence={TOKENS}"), "logits_per_image"
    if case.kind.startswith("Whisper"):
        full = dict(input_features=noise((1, 6, 16), 7), decoder_input_ids=ids)
        # Three functions that meet in states.
        return full, (None, full, f"batch=1,frames=16,tokens={TOKENS},cache={TOKENS}"), "logits"
    if case.kind.startswith("Wav2Vec2"):
        full = dict(input_values=noise((1, 60), 7))
        return full, ("model", full, "batch=1,samples=60"), "logits"
    if any(word in case.kind for word in ("Bert", "Roberta", "MPNet")):
        full = dict(input_ids=ids, attention_mask=torch.ones_like(ids))
        output = "last_hidden_state" if case.kind.endswith("Model") else "logits"
        own = dict(full, token_type_ids=torch.zeros_like(ids)) if case.kind.startswith(("Bert", "Roberta")) else full
        return own if case.kind.startswith("Bert") else full, ("model", own, f"batch=1,sequence={TOKENS}"), output
    step = dict(input_ids=ids, position=torch.zeros(1, dtype=torch.int64))
    return dict(input_ids=ids), ("decoder", step, f"batch=1,cache={TOKENS},tokens={TOKENS}"), "logits"


class Rejected(Exception):
    pass


def run(accelc, *arguments):
    done = subprocess.run([accelc, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise Rejected(done.stderr.strip())


def by_transformers(case, folder):
    model = class_of(case).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    full, _, output = inputs(case)
    with torch.no_grad():
        return getattr(model(**full), output)


def by_accelc(accelc, case, folder):
    full, (part, feed, shape), output = inputs(case)
    scratch = folder.parent
    package = scratch / "out.accelpkg"
    parts = ["--part", part] if part else []
    run(accelc, "convert", folder, "--shape", shape, *parts, "--compress", "float32", "--no-cache", "--quiet", "-o", package)
    save_file(with_declared(accelc, package, feed), scratch / "in.safetensors")
    run(accelc, "run", package, "--inputs", scratch / "in.safetensors", "--outputs", scratch / "out.safetensors")
    return load_file(scratch / "out.safetensors")[output]


def with_declared(accelc, package, feed):
    """Those that the package declares."""
    manifest = json.loads((package / "manifest.json").read_text())
    names = {value["name"] for function in manifest["functions"] for value in function["inputs"]}
    return {name: tensor.contiguous() for name, tensor in feed.items() if name in names}


def sqnr(value, reference):
    error = (value.double() - reference.double()).square().sum()
    return math.inf if error == 0 else 10 * math.log10(reference.double().square().sum() / error)


def judge(accelc, case, folder):
    """What is wrong; None if nothing, and what happened."""
    build(case, folder)
    try:
        reference, theirs = by_transformers(case, folder), "loads it"
    except Exception as error:  # whatever transformers throws is its rejection
        reference, theirs = None, f"fails ({type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''})"
    try:
        value, ours = by_accelc(accelc, case, folder), "converts it"
    except Rejected as rejection:
        value, ours = None, str(rejection)
    if case.rejected:
        return (case.rejected in ours and value is None), f"transformers {theirs}; accelc: {ours.splitlines()[-1][-150:]}"
    if reference is None or value is None:
        return False, f"transformers {theirs}; accelc: {ours}"
    figure = sqnr(value, reference)
    return figure >= ENOUGH, f"{figure:.1f} dB"


def everything(accelc, scratch):
    """Each class's whole configuration, with its defaults, is accepted as far as its fields go."""
    missed = []
    for case in {case.kind: case for case in CASES}.values():
        folder = scratch / "whole" / case.kind
        build(Case("", case.kind, case.base), folder)
        config = class_of(case).config_class.from_pretrained(folder)
        config.to_json_file(folder / "config.json", use_diff=False)
        try:
            run(accelc, "inspect", folder)
        except Rejected as rejection:
            missed.append(f"{case.kind}: {rejection}")
    return missed


def main():
    accelc, wanted = sys.argv[1], [word for word in sys.argv[2:] if not pathlib.Path(word).is_dir()]
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for index, case in enumerate(CASES):
            if wanted and case.name not in wanted:
                continue
            good, what = judge(accelc, case, scratch / str(index) / "model")
            print(f"  {'ok  ' if good else 'FAIL'} {case.name}: {what}")
            failed += [] if good else [case.name]
        missed = [] if wanted else everything(accelc, scratch)
        for line in missed:
            print(f"  FAIL whole configuration of {line}")
    if failed or missed:
        sys.exit(f"configurations: {len(failed) + len(missed)} failed")
    print(f"configurations: {len(CASES) if not wanted else len(wanted)} cases agree with transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
