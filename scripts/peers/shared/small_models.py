"""Small models of every family that other converters know, by transformers, with goldens and tokenizers."""

import json

import numpy
import safetensors.numpy
import tokenizers
import torch
import transformers

# Rows of whole blocks of every quantization.
WIDE = dict(
    hidden_size=256, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=512, vocab_size=331,
    head_dim=64, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
ENCODER = dict(
    hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=512, vocab_size=331, max_position_embeddings=64,
    pad_token_id=0)
# By the family's name: the stem of transformers' classes, the suffix of the class, and the configuration.
MODELS = {
    "llama": ("Llama", "ForCausalLM", WIDE),
    "mistral": ("Mistral", "ForCausalLM", WIDE | dict(sliding_window=None)),
    "qwen2": ("Qwen2", "ForCausalLM", WIDE | dict(use_sliding_window=False)),
    "qwen3": ("Qwen3", "ForCausalLM", WIDE),
    "phi3": ("Phi3", "ForCausalLM", WIDE | dict(rope_parameters=dict(rope_type="default", rope_theta=3000.0))),
    "gemma": ("Gemma", "ForCausalLM", WIDE),
    "gemma3_text": ("Gemma3", "ForCausalLM", WIDE | dict(
        query_pre_attn_scalar=64, sliding_window=32, layer_types=["sliding_attention", "full_attention"], rope_parameters=dict(
            full_attention=dict(rope_type="linear", rope_theta=40000.0, factor=2.0),
            sliding_attention=dict(rope_type="default", rope_theta=800.0)))),
    "gpt2": ("GPT2", "LMHeadModel", dict(
        n_embd=256, n_head=4, n_layer=2, n_positions=64, n_inner=1024, vocab_size=331, bos_token_id=1, eos_token_id=2)),
    "bert": ("Bert", "Model", ENCODER),
    "roberta": ("Roberta", "Model", ENCODER | dict(pad_token_id=1)),
    "distilbert": ("DistilBert", "Model", dict(
        dim=256, n_layers=2, n_heads=4, hidden_dim=512, vocab_size=331, max_position_embeddings=64, pad_token_id=0)),
}


def parameters_of(model, scale=0.1):
    """Moves all parameters off their starts, which are zeros and ones for many."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(scale * torch.randn_like(parameter) * parameter.std().clamp(0.1, 1))


def made(family, folder, seed=7, **more):
    """Saves a model with golden.safetensors (a row of 12 tokens, in float64 too) and a tokenizer; returns the model."""
    torch.manual_seed(seed)
    stem, suffix, fields = MODELS[family]
    kind = "Gemma3TextConfig" if family == "gemma3_text" else f"{stem}Config"
    config = getattr(transformers, kind)(**fields | more)
    model = getattr(transformers, stem + suffix)(config).eval()
    parameters_of(model)
    model.save_pretrained(folder)
    tokens = torch.randint(5, fields["vocab_size"], (1, 12), generator=torch.Generator().manual_seed(3))
    golden = {"in.input_ids": tokens.numpy()}
    if suffix == "Model":
        golden["in.attention_mask"] = numpy.ones_like(golden["in.input_ids"])
        if family in ("bert", "roberta"):
            golden["in.token_type_ids"] = numpy.zeros_like(golden["in.input_ids"])
    with torch.no_grad():
        for prefix, run in (("out", model), ("ref64", model.double())):
            result = run(input_ids=tokens) if suffix == "Model" else run(input_ids=tokens, use_cache=False)
            name, value = ("last_hidden_state", result.last_hidden_state) if suffix == "Model" else ("logits_full", result.logits)
            golden[f"{prefix}.{name}"] = value.numpy()
    model.float()
    safetensors.numpy.save_file(golden, folder / "golden.safetensors")
    words(folder, json.loads((folder / "config.json").read_text()))
    return model


def shape(family, golden):
    """The words by which functions of fixed shapes fit the golden; a decoder's here has one block of tokens, and no caches."""
    decodes = family in MODELS and MODELS[family][1] != "Model"
    return ("--shape", "batch=1,tokens=12,cache=12") if decodes else ("--shape-from", golden)


def words(folder, config, prompt=()):
    """A tokenizer of words, with fewer words than rows of embeddings for most families. `prompt`: tokens of Whisper's."""
    kind, rows = config["model_type"], config["vocab_size"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] if kind == "bert" else ["<unk>", "<s>", "</s>", "<pad>"]
    count = rows if "bert" in kind and kind != "bert" else rows - 3
    texts = (special + ["caf\u00e9", 'quo"te', "tab\t", "\U0001f600"] + [f"w{i}" for i in range(rows)])[:count]
    if prompt:
        texts[prompt[0]], texts[prompt[-1]] = "<|startoftranscript|>", "<|notimestamps|>"
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate(texts)}, special[0]))
    model.save(str(folder / "tokenizer.json"))
    names = dict(unk_token="[UNK]")
    if kind != "bert":
        names = dict(unk_token="<unk>", bos_token="<s>", eos_token=dict(__type="AddedToken", content="</s>"))
    if kind in ("qwen2", "qwen3"):
        names = dict(bos_token=None, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    (folder / "tokenizer_config.json").write_text(json.dumps(dict(tokenizer_class="PreTrainedTokenizerFast", **names)))
