"""Makes Tests/Fixtures/{llama,mistral,qwen2,qwen3,phi3,gemma,gemma3,gpt2,whisper}_*: tiny seeded decoders, each with goldens of transformers.

usage: fixtures_decoders.py [NAME...]       (default: all; wants torch, transformers, safetensors, numpy)
A golden holds the logits of a full forward, of a prefill and of single steps after it, and the key/value cache after the
prefill and at the end, padded with zeros to `kv_len`. `prefill` 0: the full forward only.
"""

import copy
import json
import pathlib
import shutil
import sys
import zlib

import safetensors.torch
import torch
import transformers

import cases
import fixtures

SMALL = dict(
    hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=28,
    vocab_size=47, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def rope(kind="default", theta=10000.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


LONG = dict(short_factor=[1.0, 1.1, 1.3], long_factor=[1.0, 1.7, 2.9])
# name: class, configuration, and what else sets it apart
FIXTURE = {
    "llama_llama3": dict(kind="Llama", config=dict(
        SMALL, attention_bias=True, tie_word_embeddings=True, max_position_embeddings=512,
        rope_parameters=rope("llama3", 500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32)), batch=2),
    "llama_linear_old": dict(kind="Llama", config=dict(
        SMALL, num_key_value_heads=4, mlp_bias=True, head_dim=12, rope_parameters=rope("linear", 3000.0, factor=3.0)), old=True),
    "llama_yarn": dict(kind="Llama", config=dict(
        SMALL, num_key_value_heads=1, rope_parameters=rope(
            "yarn", 900.0, factor=4.0, original_max_position_embeddings=16))),
    "llama_proportional": dict(kind="Llama", config=dict(
        SMALL, head_dim=10, rope_parameters=rope("proportional", 700.0, factor=2.0, partial_rotary_factor=0.6))),
    "llama_dynamic": dict(kind="Llama", config=dict(
        SMALL, max_position_embeddings=7, rope_parameters=rope("dynamic", factor=2.0)), prefill=0),
    # As many layers as real decoders have, for listings and reports.
    "llama_deep": dict(kind="Llama", config=dict(
        SMALL, hidden_size=16, num_hidden_layers=24, num_key_value_heads=1, intermediate_size=20, rope_parameters=rope())),
    # Widths that blocks of 32 and 64 divide, but for the down projection's; weights of 16 bits.
    "llama_bfloat16": dict(kind="Llama", dtype=torch.bfloat16, config=dict(
        SMALL, hidden_size=64, intermediate_size=96, rope_parameters=rope(theta=20000.0))),
    "mistral_window": dict(kind="Mistral", config=dict(SMALL, sliding_window=3, rope_parameters=rope(theta=2000.0))),
    "qwen2_window": dict(kind="Qwen2", config=dict(
        SMALL, use_sliding_window=True, sliding_window=4, max_window_layers=1, rope_parameters=rope())),
    "qwen3_small": dict(kind="Qwen3", config=dict(
        SMALL, head_dim=12, attention_bias=True, tie_word_embeddings=True, rope_parameters=rope(theta=70000.0))),
    # Prefill and steps stay beyond the original length, where the framework uses the long factors throughout.
    "phi3_long": dict(kind="Phi3", config=dict(
        SMALL, max_position_embeddings=64, original_max_position_embeddings=8,
        rope_parameters=rope("longrope", original_max_position_embeddings=8, **LONG)), prefill=10),
    "phi3_partial": dict(kind="Phi3", config=dict(
        SMALL, sliding_window=5, rope_parameters=rope(partial_rotary_factor=0.5))),
    # The released configurations say "gelu" and mean the one by tanh.
    "gemma_early": dict(kind="Gemma", config=dict(
        SMALL, head_dim=8, num_key_value_heads=1, rope_parameters=rope(theta=5000.0)), replaced=dict(hidden_act="gelu")),
    "gemma3_old": dict(kind="Gemma3", config=dict(
        SMALL, num_hidden_layers=3, head_dim=8, num_key_value_heads=1, query_pre_attn_scalar=20, sliding_window=4,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"], final_logit_softcapping=9.0,
        rope_parameters=dict(
            full_attention=rope("linear", 40000.0, factor=2.0), sliding_attention=rope(theta=800.0)))),
    # The weights of its linear layers lie the other way round.
    "gpt2_small": dict(kind="GPT2", config=dict(
        n_embd=24, n_layer=2, n_head=4, n_inner=40, vocab_size=47, n_positions=64, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, scale_attn_by_inverse_layer_idx=True), batch=2),
    "whisper_small": dict(kind="Whisper", config=dict(
        d_model=18, encoder_layers=1, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=2,
        encoder_ffn_dim=22, decoder_ffn_dim=26, num_mel_bins=10, vocab_size=47, max_source_positions=13,
        max_target_positions=14, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
        suppress_tokens=None, begin_suppress_tokens=None)),
}
TOKENS, KV_LENGTH = 12, 14


def redraw(model, seed):
    """Every gain, bias and matrix anew, so that a dropped, swapped or transposed tensor shows in the outputs."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = fixtures.draw(name, tuple(parameter.shape), seed)
            if name.endswith("norm.weight") or ".ln_" in name and name.endswith("weight"):
                parameter.copy_(0.2 * noise + parameter.mean().round())
            elif parameter.ndim == 1:
                parameter.copy_(0.3 * noise)
            elif "embed" in name or "wte" in name or "wpe" in name:
                parameter.copy_(0.5 * noise)
            else:
                parameter.copy_(noise * 1.1 / parameter.shape[1] ** 0.5)


def cached(cache, name):
    """Keys and values of every layer, padded to KV_LENGTH."""
    tensors = {}
    for index, layer in enumerate(cache.layers):
        for letter, tensor in (("k", layer.keys), ("v", layer.values)):
            room = KV_LENGTH - tensor.shape[2]
            tensors[f"{name}.{letter}.{index}"] = torch.nn.functional.pad(tensor, (0, 0, 0, room))
    return tensors


def forward(model, tokens, prefill):
    with torch.no_grad():
        outputs = {"logits_full": model(input_ids=tokens, use_cache=False).logits}
        if prefill == 0:
            return outputs
        cache = transformers.DynamicCache()  # keeps every place, windows or not
        outputs["prefill_logits"] = model(input_ids=tokens[:, :prefill], past_key_values=cache).logits
        outputs |= cached(cache, "kv_prefill")
        for place in range(prefill, tokens.shape[1]):
            step = model(input_ids=tokens[:, place:place + 1], past_key_values=cache)
            outputs[f"step{place - prefill}_logits"] = step.logits
        return outputs | cached(cache, "kv_final")


def speech(model, features, tokens, prefill):
    """The same of a model with an encoder, and what its decoder keeps of the encoder's states."""
    with torch.no_grad():
        features = features.to(model.dtype)
        hidden = model.model.encoder(features)
        full = model(features, decoder_input_ids=tokens, use_cache=False)
        cache = transformers.EncoderDecoderCache(transformers.DynamicCache(), transformers.DynamicCache())

        def feed(block):
            return model(encoder_outputs=hidden, decoder_input_ids=block, past_key_values=cache, use_cache=True).logits

        def kept(name):
            return {n.replace(f"{name}.", f"{name}.self_"): t for n, t in cached(cache.self_attention_cache, name).items()}

        outputs = {"encoder_hidden": hidden.last_hidden_state, "logits_full": full.logits, "prefill_logits": feed(tokens[:, :prefill])}
        outputs |= kept("kv_prefill")
        for index, layer in enumerate(cache.cross_attention_cache.layers):
            outputs |= {f"cross_k.{index}": layer.keys, f"cross_v.{index}": layer.values}
        for place in range(prefill, tokens.shape[1]):
            outputs[f"step{place - prefill}_logits"] = feed(tokens[:, place:place + 1])
        return outputs | kept("kv_final")


def old_dialect(path):
    """As configurations were before `rope_parameters` and `dtype`."""
    config = json.loads(path.read_text())
    config["torch_dtype"] = config.pop("dtype")
    parameters = config.pop("rope_parameters")
    if "sliding_attention" in parameters:
        config["rope_local_base_freq"] = parameters["sliding_attention"]["rope_theta"]
        parameters = parameters["full_attention"]
    config["rope_theta"] = parameters.pop("rope_theta")
    # Gemma's configuration class passes over `type`.
    key = "rope_type" if config["model_type"] == "gemma3_text" else "type"
    config["rope_scaling"] = {key: parameters.pop("rope_type"), **parameters}
    path.write_text(json.dumps(config, indent=2) + "\n")


def make(name):
    what = FIXTURE[name]
    seed = zlib.crc32(name.encode()) % 10_000
    folder = fixtures.FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    config = getattr(transformers, what["kind"] + ("TextConfig" if what["kind"] == "Gemma3" else "Config"))(**what["config"])
    ending = {"Whisper": "ForConditionalGeneration", "GPT2": "LMHeadModel"}.get(what["kind"], "ForCausalLM")
    kind = getattr(transformers, what["kind"] + ending)
    model = kind(config)
    redraw(model, seed)
    model.to(what.get("dtype", torch.float32)).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if what.get("old") or name.endswith("_old"):
        old_dialect(folder / "config.json")
    if what.get("replaced"):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | what["replaced"], indent=2) + "\n")
    loaded, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True, attn_implementation="eager")
    if report["missing_keys"] or report["mismatched_keys"] or report["unexpected_keys"]:
        sys.exit(f"{name}: {report}")
    prefill = what.get("prefill", 9)
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, config.vocab_size, (what.get("batch", 1), TOKENS), generator=generator)
    inputs = {"input_ids": tokens}
    run = forward
    if what["kind"] == "Whisper":
        features = torch.randn(len(tokens), config.num_mel_bins, 2 * config.max_source_positions, generator=generator)
        inputs = {"input_features": features, "decoder_input_ids": tokens}
        run = lambda model, tokens, prefill: speech(model, features, tokens, prefill)
    outputs = run(loaded.eval(), tokens, prefill)
    references = run(copy.deepcopy(loaded).double(), tokens, prefill)
    stored = {f"in.{n}": t for n, t in inputs.items()} | {f"out.{n}": t for n, t in outputs.items()} | {f"ref64.{n}": t for n, t in references.items()}
    safetensors.torch.save_file(
        {n: t.contiguous() for n, t in stored.items()}, folder / "golden.safetensors", metadata={"format": "pt"})
    case = {
        "family": config.model_type, "case": name, "seed": seed, "dist": "lively", "prefill": prefill,
        "steps": TOKENS - prefill if prefill else 0, "kv_len": KV_LENGTH,
        "files": sorted({p.name for p in folder.iterdir()} - {"case.json"}),
        "fp32_noise": cases.noise(outputs, references),
        "inputs": cases.shapes(inputs), "outputs": cases.shapes(outputs), "torch": torch.__version__,
    }
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    if prefill:
        last = outputs["logits_full"][:, -1:] - outputs[f"step{TOKENS - prefill - 1}_logits"]
        assert last.abs().max() < 1e-4, f"{name}: the full forward and the steps differ by {last.abs().max()}"
    return sum(p.stat().st_size for p in folder.iterdir())


if __name__ == "__main__":
    cases.make_all(sys.argv[1:] or FIXTURE, make)
