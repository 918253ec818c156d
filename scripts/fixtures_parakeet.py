"""Makes the fixtures of Parakeet in Tests/Fixtures: tiny seeded checkpoints with goldens of transformers, and texts of a sound.

usage: fixtures_parakeet.py [NAME...]   (default: all; wants numpy, torch, transformers, tokenizers and safetensors)

- `parakeet_ctc`: ParakeetForCTC, two sounds of which the second is shorter and masked.
- `parakeet_encoder`: the encoder alone, without biases and scaling, with other kernels and a quarter of the frames.
- `parakeet_pieces`: ParakeetForCTC with a tokenizer whose tokens are pieces of words. texts.json has the texts of the sound of the
  fixture `characters`: of its first window, of its first second in the same window, and of the whole sound in windows that overlap.
- `parakeet_tdt`, `parakeet_rnnt`: transducers with such a tokenizer and such texts. The golden has the parts encoder, predictor and joint
  each for its own inputs; `steps.*` are three tokens after each other through the predictor.
"""

import copy
import json
import pathlib
import shutil
import sys
import wave
import zlib

import numpy
import safetensors.torch
import tokenizers
import torch
import transformers
from transformers import (
    ParakeetCTCConfig, ParakeetEncoder, ParakeetEncoderConfig, ParakeetForCTC, ParakeetForRNNT, ParakeetForTDT, ParakeetRNNTConfig,
    ParakeetTDTConfig)

import cases

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures"
RATE = 16000
WINDOW, HOP = 25600, 1280
SMALL = dict(
    hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, subsampling_conv_channels=8, num_mel_bins=16)


def draw(name, shape, seed):
    return torch.from_numpy(numpy.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)).float()


def redraw(model, seed):
    """Every parameter and statistic anew, so that a dropped, swapped or transposed tensor shows in the outputs."""
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not tensor.is_floating_point():
                continue
            noise = draw(name, tuple(tensor.shape), seed)
            if name.endswith("running_var"):
                tensor.copy_(0.5 + noise.abs())
            elif "norm" in name and name.endswith(".weight"):
                tensor.copy_(1 + 0.2 * noise)
            elif tensor.ndim == 1 or "bias_" in name:
                tensor.copy_(0.2 * noise)
            else:
                tensor.copy_(noise * 1.1 / tensor[0].numel() ** 0.5)


def both(model, run):
    """A run in float32 and in float64."""
    with torch.no_grad():
        return run(model, lambda t: t), run(copy.deepcopy(model).double(), lambda t: t.double() if t.is_floating_point() else t)


def store(name, model, inputs, outputs, references, extra={}, **facts):
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    stored = {f"in.{n}": t for n, t in inputs.items()} | {f"out.{n}": t for n, t in outputs.items()}
    stored |= {f"ref64.{n}": t for n, t in references.items()} | extra
    safetensors.torch.save_file(
        {n: t.contiguous().clone() for n, t in stored.items()}, folder / "golden.safetensors", metadata={"format": "pt"})
    case = {"case": name, "family": "parakeet", **facts, "fp32_noise": cases.noise(outputs, references), "inputs": cases.shapes(inputs),
            "outputs": cases.shapes(outputs), "torch": torch.__version__}
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    size = sum(p.stat().st_size for p in folder.iterdir())
    print(f"{name:20} {size:8} bytes", {n: f"{f['max_abs_fp32_vs_64'] / f['ref_rms']:.1e}" for n, f in case["fp32_noise"].items()})


def sounds(mels, frames, lengths, seed):
    """Features, zero where the mask is, as the feature extractor leaves them."""
    mask = (torch.arange(frames)[None] < torch.tensor(lengths)[:, None]).long()
    return {"input_features": draw("features", (len(lengths), frames, mels), seed) * mask[..., None], "attention_mask": mask}


def parakeet_ctc():
    model = ParakeetForCTC(ParakeetCTCConfig(vocab_size=32, pad_token_id=31, encoder_config=SMALL)).eval()
    redraw(model, 61)
    inputs = sounds(16, 75, [75, 50], 61)
    outputs, references = both(model, lambda model, wide: {"logits": model(**{n: wide(t) for n, t in inputs.items()}).logits})
    store("parakeet_ctc", model, inputs, outputs, references, seed=61)


def parakeet_encoder():
    config = dict(SMALL, num_hidden_layers=1, num_attention_heads=2, hidden_size=20, attention_bias=False, convolution_bias=False,
                  conv_kernel_size=5, subsampling_conv_kernel_size=5, subsampling_factor=4, num_mel_bins=12, scale_input=False,
                  hidden_act="relu", max_position_embeddings=40)
    model = ParakeetEncoder(ParakeetEncoderConfig(**config)).eval()
    redraw(model, 62)
    inputs = sounds(12, 42, [31, 42, 3], 62)
    run = lambda model, wide: {"last_hidden_state": model(**{n: wide(t) for n, t in inputs.items()}).last_hidden_state}
    outputs, references = both(model, run)
    store("parakeet_encoder", model, inputs, outputs, references, seed=62)


# --- Texts

MERGES = ["t h", "h e", "i n", "e r", "▁ t", "▁ a", "▁ s", "▁t he", "▁t o"]
PIECES = ["<unk>", "▁", *"etaonihsrdlu", *(merge.replace(" ", "") for merge in MERGES), ".", ",", "'", "w", "c", "m", "g", "p", "<pad>"]


def tokenizer(pieces=PIECES):
    model = tokenizers.models.BPE(
        vocab={piece: index for index, piece in enumerate(pieces)}, merges=[tuple(merge.split()) for merge in MERGES], unk_token="<unk>")
    whole = tokenizers.Tokenizer(model)
    whole.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    whole.decoder = tokenizers.decoders.Metaspace()
    whole.add_special_tokens([piece for piece in pieces if piece.startswith("<")])
    return transformers.ParakeetTokenizer(tokenizer_object=whole, unk_token="<unk>", pad_token="<pad>")


def samples():
    with wave.open(str(FIXTURES / "characters" / "sound.wav")) as file:
        return numpy.frombuffer(file.readframes(file.getnframes()), "<i2").astype(numpy.float32) / 32768


def in_windows(sound, find):
    """What is found in the frames of a sound in windows, of which a sixth at both sides is for the frames in the middle."""
    margin = WINDOW // 6 // HOP
    step = WINDOW // HOP - 2 * margin
    found, start = [], 0
    while start * HOP < len(sound):
        part = sound[start * HOP : start * HOP + WINDOW]
        is_last = start * HOP + WINDOW >= len(sound)
        here = find(part)
        found += here[0 if start == 0 else margin : len(here) if is_last else margin + step]
        if is_last:
            break
        start += step
    return found


def windowed(made):
    """Features in a whole window, with the number of their states."""
    frames, count = WINDOW // 160, int(made.attention_mask.sum())
    features, mask = torch.zeros(1, frames, 16), torch.zeros(1, frames, dtype=torch.long)
    features[:, :count], mask[:, :count] = made.input_features[:, :count], 1
    return features, mask, (count + 7) // 8


def surely(scores):
    """The likeliest of scores, which no rounding changes."""
    two = scores.topk(2).values
    assert (two[..., 0] - two[..., 1]).min() > 1e-3, "two are about as likely"
    return scores.argmax(-1)


def whitened(hidden, rows, seed):
    """A head whose scores of hidden states are as if they were drawn for each: it divides each direction by its deviation."""
    mean = hidden.mean(0)
    _, scales, directions = torch.linalg.svd(hidden - mean, full_matrices=False)
    weight = 5 * draw("head", (rows, len(scales)), seed) @ (directions / (scales[:, None] + 0.05 * scales[0]))
    return weight, -weight @ mean


def store_texts(folder, texts):
    (folder / "texts.json").write_text(json.dumps(texts, indent=1) + "\n")
    print(f"{folder.name:20} {sum(p.stat().st_size for p in folder.iterdir()):8} bytes", texts)


def parakeet_pieces():
    folder = FIXTURES / "parakeet_pieces"
    shutil.rmtree(folder, ignore_errors=True)
    blank = len(PIECES) - 1
    config = ParakeetCTCConfig(vocab_size=len(PIECES), pad_token_id=blank, encoder_config=dict(SMALL, num_hidden_layers=1))
    model = ParakeetForCTC(config).eval()
    redraw(model, 63)
    extractor = transformers.ParakeetFeatureExtractor(feature_size=16)
    with torch.no_grad():
        hidden = model.encoder(**extractor(samples(), sampling_rate=RATE, return_tensors="pt")).last_hidden_state[0]
        weight, bias = whitened(hidden, len(PIECES), 63)
        model.ctc_head.weight.copy_(weight[..., None])
        model.ctc_head.bias.copy_(bias)
        # The blank is frequent, and the unknown token does not occur.
        model.ctc_head.bias[blank] += 3
        model.ctc_head.bias[0] = -100
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    processor = transformers.ParakeetProcessor(extractor, tokenizer(), decoder_type="ctc")
    processor.save_pretrained(folder)

    def tokens(part):
        made = extractor(part, sampling_rate=RATE, return_tensors="pt")
        features, mask, states = windowed(made)
        with torch.no_grad():
            ids = surely(model(input_features=features, attention_mask=mask).logits[0, :states]).tolist()
        # As long as the sound alone, whose last frame is masked.
        assert ids == model.generate(**made)[0][:states].tolist()
        return ids

    sound = samples()
    decode = lambda ids: processor.decode(ids, skip_special_tokens=True)
    whole = in_windows(sound, tokens)
    first, short = tokens(sound[:WINDOW]), tokens(sound[:RATE])
    store_texts(folder, {"first": decode(first), "short": decode(short), "whole": decode(whole), "tokens": whole})


def parts(model, given):
    """What each part of a transducer makes of its own inputs."""
    count = model.config.vocab_size
    with torch.no_grad():
        encoded = model.get_audio_features(given["input_features"], given["attention_mask"]).pooler_output
        scores = model.joint(decoder_hidden_states=given["decoder_hidden_states"], encoder_hidden_states=given["encoder_hidden_states"])
        outputs = {"pooler_output": encoded, "decoder_hidden_states": model.decoder(given["decoder_input_ids"]),
                   "logits": scores[..., :count].contiguous()}
        if scores.shape[-1] > count:
            outputs["duration_logits"] = scores[..., count:].contiguous()
    return outputs


def transducer(name, config, make, seed):
    pieces = PIECES + ["<blank>"]
    blank, width = len(pieces) - 1, 16
    config = config(
        vocab_size=len(pieces), pad_token_id=blank - 1, blank_token_id=blank, decoder_hidden_size=width, max_symbols_per_step=3,
        encoder_config=dict(SMALL, num_hidden_layers=1))
    model = make(config).eval()
    redraw(model, seed)
    extractor = transformers.ParakeetFeatureExtractor(feature_size=16)
    with torch.no_grad():
        made = extractor(samples(), sampling_rate=RATE, return_tensors="pt")
        heard = model.get_audio_features(**made).pooler_output[0]
        tokens = torch.arange(len(pieces))[:, None]
        read = model.decoder(tokens)[:, 0]
        hidden = torch.relu(heard[:, None] + read[None]).flatten(0, 1)
        weight, bias = whitened(hidden, model.joint.head.out_features, seed)
        # By the deviation of all states of both, there are as many tokens as frames.
        scale = len(hidden) ** 0.5 / 5
        model.joint.head.weight.copy_(weight * scale)
        model.joint.head.bias.copy_(bias * scale)
        # A frame of an RNN-T ends with a blank.
        model.joint.head.bias[blank] += 2 if make is ParakeetForTDT else 5
        model.joint.head.bias[[0, blank - 1]] = -100
        model.joint.head.bias[[index for index, piece in enumerate(pieces) if piece[0] == "▁" and index > 1]] += 1.5
        # Several signs of a word's start in a row would be as many spaces.
        model.joint.head.bias[1] -= 0 if make is ParakeetForTDT else 100
        # transformers 5.23 takes the likeliest of tokens and durations together for the token.
        model.joint.head.bias[len(pieces) :] -= 50
        # Tokens that last no frame come to no end there, so that they are rare.
        model.joint.head.bias[len(pieces) : len(pieces) + 1] -= 4
    inputs = sounds(16, 41, [41, 33], seed) | {
        "decoder_input_ids": torch.tensor([[5], [17]]), "encoder_hidden_states": draw("heard", (2, 1, width), seed),
        "decoder_hidden_states": draw("read", (2, 1, width), seed)}
    steps = torch.tensor([[blank, 3, 12], [7, 7, 30]])

    outputs, references = both(model, lambda model, wide: parts(model, {n: wide(t) for n, t in inputs.items()}))
    with torch.no_grad():
        extra = {"steps.decoder_input_ids": steps, "steps.decoder_hidden_states": model.decoder(steps)}
    model.generation_config.decoder_start_token_id = blank
    store(name, model, inputs, outputs, references, extra=extra, seed=seed)
    folder = FIXTURES / name
    kind = "tdt" if make is ParakeetForTDT else "rnnt"
    processor = transformers.ParakeetProcessor(extractor, tokenizer(pieces), decoder_type=kind)
    processor.save_pretrained(folder)

    def emissions(part):
        """The tokens of each state."""
        made = extractor(part, sampling_rate=RATE, return_tensors="pt")
        features, mask, states = windowed(made)
        result = model.generate(input_features=features, attention_mask=mask)
        alone = model.generate(**made)
        ids, durations = result.sequences[0, 1:].tolist(), result.durations[0, 1:].tolist()
        assert ids == alone.sequences[0, 1:].tolist() and durations == alone.durations[0, 1:].tolist()
        exact = copy.deepcopy(model).double().generate(input_features=features.double(), attention_mask=mask)
        assert ids == exact.sequences[0, 1:].tolist() and durations == exact.durations[0, 1:].tolist()
        found, frame = [[] for _ in range(states)], 0
        for token, duration in zip(ids, durations):
            if token != blank:
                found[frame].append(token)
            frame += duration
        assert frame >= states, "the search ends before the sound"
        return found

    sound = samples()
    decode = lambda found: processor.decode([token for frame in found for token in frame], skip_special_tokens=True)
    whole = in_windows(sound, emissions)
    store_texts(folder, {
        "first": decode(emissions(sound[:WINDOW])), "short": decode(emissions(sound[:RATE])), "whole": decode(whole), "tokens": whole})


def parakeet_tdt():
    transducer("parakeet_tdt", ParakeetTDTConfig, ParakeetForTDT, 64)


def parakeet_rnnt():
    transducer("parakeet_rnnt", ParakeetRNNTConfig, ParakeetForRNNT, 65)


FIXTURE = [parakeet_ctc, parakeet_encoder, parakeet_pieces, parakeet_tdt, parakeet_rnnt]


def main(names):
    known = {f.__name__: f for f in FIXTURE}
    if unknown := set(names) - set(known):
        sys.exit(f"no fixture is called {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        known[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
