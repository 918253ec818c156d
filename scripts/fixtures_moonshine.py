"""Makes Tests/Fixtures/moonshine_*, tiny seeded Moonshines with goldens of transformers, and Tests/Fixtures/utterances, one with a tokenizer, a
sound and its texts.

usage: fixtures_moonshine.py [NAME...]       (default: all; wants torch, transformers, tokenizers, safetensors, numpy)
A golden is as those of fixtures_decoders.py, with two changes: `length` is the number of samples, and in `self_k` the elements of a head are
in accelc's order, which is the first elements of all rotated pairs, the second ones, and the rest.
texts.json has the texts that `generate` of transformers gives for the whole sound and for its beginning, with 6.5 tokens a second at most, as
the authors' own programs have it.
"""

import copy
import json
import math
import shutil
import sys
import wave
import zlib

import numpy
import safetensors.torch
import tokenizers
import torch
import transformers

import cases
import fixtures
import fixtures_decoders

SMALL = dict(vocab_size=47, max_position_embeddings=14, pad_token_id=2, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
# name: configuration, samples, and what else sets it apart
FIXTURE = {
    "moonshine_small": dict(config=dict(
        SMALL, hidden_size=14, intermediate_size=22, encoder_num_hidden_layers=1, decoder_num_hidden_layers=2,
        encoder_num_attention_heads=2, decoder_num_attention_heads=2, pad_head_dim_to_multiple_of=8), samples=2500),
    # 5 of 8 elements of a head are to be rotated, which are rounded up to 6.
    "moonshine_biased": dict(config=dict(
        SMALL, hidden_size=16, intermediate_size=24, encoder_num_hidden_layers=2, decoder_num_hidden_layers=1,
        encoder_num_attention_heads=2, decoder_num_attention_heads=2, attention_bias=True, tie_word_embeddings=False,
        encoder_hidden_act="relu", decoder_hidden_act="gelu", rope_parameters=dict(
            rope_type="default", rope_theta=500.0, partial_rotary_factor=0.66)), samples=1300, batch=2, old=True),
}
PREFILL = 9


def redraw(model, seed):
    fixtures_decoders.redraw(model, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 3:
                parameter.copy_(fixtures.draw(name, tuple(parameter.shape), seed) * 1.1 / math.prod(parameter.shape[1:]) ** 0.5)


def reordered(tensor, config):
    """The elements of heads in accelc's order."""
    head = config.hidden_size // config.encoder_num_attention_heads
    width = -(-int(head * config.rope_parameters["partial_rotary_factor"]) // 2) * 2
    return tensor[..., [*range(0, width, 2), *range(1, width, 2), *range(width, head)]]


def run(model, sound, tokens):
    outputs = fixtures_decoders.speech(model, sound, tokens, PREFILL)
    return {name: reordered(tensor, model.config) if ".self_k" in name else tensor for name, tensor in outputs.items()}


def old_dialect(path):
    """As configurations were before `rope_parameters` and `dtype`."""
    config = json.loads(path.read_text())
    config["torch_dtype"] = config.pop("dtype")
    parameters = config.pop("rope_parameters")
    config |= {"rope_scaling": None, "rope_theta": parameters["rope_theta"], "partial_rotary_factor": parameters["partial_rotary_factor"]}
    path.write_text(json.dumps(config, indent=2) + "\n")


def make_case(name):
    what = FIXTURE[name]
    seed = zlib.crc32(name.encode()) % 10_000
    folder = fixtures.FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    config = transformers.MoonshineConfig(**what["config"])
    model = transformers.MoonshineForConditionalGeneration(config)
    redraw(model, seed)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if what.get("old"):
        old_dialect(folder / "config.json")
    loaded, report = type(model).from_pretrained(folder, dtype=torch.float32, output_loading_info=True, attn_implementation="eager")
    if report["missing_keys"] or report["mismatched_keys"] or report["unexpected_keys"]:
        sys.exit(f"{name}: {report}")
    generator = torch.Generator().manual_seed(seed)
    batch = what.get("batch", 1)
    tokens = torch.randint(3, config.vocab_size, (batch, fixtures_decoders.TOKENS), generator=generator)
    sound = 0.5 * torch.randn(batch, what["samples"], generator=generator)
    inputs = {"input_values": sound, "length": torch.full((batch,), what["samples"]), "decoder_input_ids": tokens}
    outputs = run(loaded.eval(), sound, tokens)
    references = run(copy.deepcopy(loaded).double(), sound, tokens)
    stored = {f"in.{n}": t for n, t in inputs.items()} | {f"out.{n}": t for n, t in outputs.items()} | {f"ref64.{n}": t for n, t in references.items()}
    safetensors.torch.save_file(
        {n: t.contiguous() for n, t in stored.items()}, folder / "golden.safetensors", metadata={"format": "pt"})
    steps = fixtures_decoders.TOKENS - PREFILL
    case = {
        "family": config.model_type, "case": name, "seed": seed, "dist": "lively", "prefill": PREFILL,
        "steps": steps, "kv_len": fixtures_decoders.KV_LENGTH,
        "files": sorted({p.name for p in folder.iterdir()} - {"case.json"}),
        "fp32_noise": cases.noise(outputs, references),
        "inputs": cases.shapes(inputs), "outputs": cases.shapes(outputs), "torch": torch.__version__,
    }
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    last = outputs["logits_full"][:, -1:] - outputs[f"step{steps - 1}_logits"]
    assert last.abs().max() < 1e-4, f"{name}: the full forward and the steps differ by {last.abs().max()}"
    return sum(p.stat().st_size for p in folder.iterdir())


# --- A sound and its texts

RATE = 16000
PIECES = ["<unk>", "<s>", "</s>", "▁", *"etaoinshrdlu.,", "▁the", "▁a", "▁of", "▁and", "▁to", "▁so", "ing", "ed", "▁we", "▁sun", "▁rose"]
# The seconds of the sounds whose texts are in texts.json.
SOUNDS = {"whole": 2.3, "beginning": 1.45}
# Of the seeds up to 1500 the one with the most varied texts, of which one ends by itself, and no two likeliest logits closer than 0.04.
SEED = 919


def sound():
    """2.3 seconds of changing tones, in 8 bits."""
    time = numpy.arange(int(SOUNDS["whole"] * RATE)) / RATE
    pitch = 150 + 70 * numpy.sin(2 * numpy.pi * 1.3 * time)
    phase = 2 * numpy.pi * numpy.cumsum(pitch) / RATE
    voice = sum(numpy.sin(n * phase) / n * (1 + numpy.sin(2 * numpy.pi * (n / 3) * time)) for n in range(1, 16))
    loud = 0.55 + 0.45 * numpy.sin(2 * numpy.pi * 2.7 * time)
    return (128 + voice * loud / 10 * 127).round().clip(0, 255).astype(numpy.uint8)


def values(bytes):
    return (bytes.astype(numpy.float32) - 128) / 128


def tokenizer():
    """Pieces and their decoder as in the published models: a mark in place of spaces, and no space at the beginning."""
    vocabulary = {piece: index for index, piece in enumerate(PIECES)}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>", fuse_unk=True))
    made.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")])
    made.decoder = tokenizers.decoders.Sequence([
        tokenizers.decoders.Replace("▁", " "), tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse(),
        tokenizers.decoders.Strip(" ", 1, 0)])
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    return made


def speaker(seed):
    config = transformers.MoonshineConfig(
        vocab_size=len(PIECES), hidden_size=20, intermediate_size=24, encoder_num_hidden_layers=1, decoder_num_hidden_layers=2,
        encoder_num_attention_heads=2, decoder_num_attention_heads=2, max_position_embeddings=32, pad_token_id=2,
        tie_word_embeddings=False)
    model = transformers.MoonshineForConditionalGeneration(config).eval()
    redraw(model, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # So that a token depends on those before it.
            if "self_attn" in name and "decoder" in name or "proj_out" in name:
                parameter.mul_(2)
            elif "embed_tokens" in name:
                parameter.mul_(3)
    return model


def text(model, samples):
    """The tokens of a sound after the first one, and the least distance of two likeliest logits."""
    values = torch.from_numpy(samples)[None]
    length = int(len(samples) * (6.5 / RATE))
    with torch.no_grad():
        made = model.generate(values, max_length=length, do_sample=False, output_logits=True, return_dict_in_generate=True)
    best = torch.stack(made.logits).squeeze(1).topk(2).values
    return made.sequences[0, 1:].tolist(), float((best[:, 0] - best[:, 1]).min())


def texts(model, samples):
    found = {name: text(model, samples[: int(seconds * RATE)]) for name, seconds in SOUNDS.items()}
    return {name: tokens for name, (tokens, _) in found.items()}, min(gap for _, gap in found.values())


def search():
    """Prints the seeds with the most varied texts."""
    samples = values(sound())
    for seed in range(1500):
        found, gap = texts(speaker(seed), samples)
        ends = sum(tokens[-1] == 2 for tokens in found.values())
        kinds = min(len(set(tokens)) for tokens in found.values())
        odd = any(token < 2 for tokens in found.values() for token in tokens)
        if gap > 0.04 and ends and kinds >= 4 and not odd and found["whole"][:4] != found["beginning"][:4]:
            print(seed, round(gap, 3), ends, kinds, found, flush=True)


def make_utterances(name):
    folder = fixtures.FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    whole, words, model = sound(), tokenizer(), speaker(SEED)
    model.save_pretrained(folder)
    words.save(str(folder / "tokenizer.json"))
    transformers.Wav2Vec2FeatureExtractor(do_normalize=False, return_attention_mask=True).save_pretrained(folder)
    with wave.open(str(folder / "sound.wav"), "wb") as file:
        file.setparams((1, 1, RATE, len(whole), "NONE", ""))
        file.writeframes(whole.tobytes())
    found, gap = texts(model, values(whole))
    read = {name: {"tokens": tokens, "text": words.decode(tokens)} for name, tokens in found.items()}
    (folder / "texts.json").write_text(json.dumps(read, indent=1) + "\n")
    print(read, "gap", gap)
    return sum(p.stat().st_size for p in folder.iterdir())


def make(name):
    return make_utterances(name) if name == "utterances" else make_case(name)


if __name__ == "__main__":
    if sys.argv[1:] == ["search"]:
        search()
    else:
        cases.make_all(sys.argv[1:] or [*FIXTURE, "utterances"], make)
