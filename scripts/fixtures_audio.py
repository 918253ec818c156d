"""Makes the audio fixtures of Tests/Fixtures: tiny seeded checkpoints, each with goldens of its original framework.

usage: fixtures_audio.py [NAME...]   (default: all; wants torch, transformers, safetensors, numpy, and of PyPI snac with
einops, and kokoro, whose modules are read without its text's analysis; scripts/peers.sh installs them)
"""

import copy
import importlib.util
import json
import pathlib
import shutil
import sys
import types
import zlib

import numpy
import safetensors.torch
import snac
import torch
from transformers import (
    AlbertConfig, HubertConfig, HubertForCTC, HubertForSequenceClassification, Wav2Vec2Config, Wav2Vec2ForSequenceClassification, Wav2Vec2Model)

import cases

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures"


def draw(name, shape, seed):
    return torch.from_numpy(numpy.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)).float()


def redraw(model, seed, skip=lambda name: False):
    """Every parameter anew, so that a dropped, swapped or transposed tensor shows in the outputs."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = draw(name, tuple(parameter.shape), seed)
            if skip(name):
                continue
            if "alpha" in name:
                parameter.copy_(0.5 + noise.abs())
            elif "original0" in name:
                parameter.copy_(0.7 + 0.2 * noise)
            elif name.endswith("norm.weight"):
                parameter.copy_(1 + 0.2 * noise)
            elif parameter.ndim == 1:
                parameter.copy_(0.1 * noise)
            else:
                parameter.copy_(noise * 1.1 / parameter[0].numel() ** 0.5)


def store(name, tensors, config, inputs, outputs, references, **facts):
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    pt = {"format": "pt"}
    safetensors.torch.save_file({n: t.contiguous().clone() for n, t in tensors.items()}, folder / "model.safetensors", metadata=pt)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    stored = {f"in.{n}": t for n, t in inputs.items()} | {f"out.{n}": t for n, t in outputs.items()}
    stored |= {f"ref64.{n}": t for n, t in references.items()}
    safetensors.torch.save_file({n: t.contiguous().clone() for n, t in stored.items()}, folder / "golden.safetensors", metadata=pt)
    noise = cases.noise({n: outputs[n] for n in references}, references)
    case = {"case": name, **facts, "fp32_noise": noise, "inputs": cases.shapes(inputs), "outputs": cases.shapes(outputs),
            "torch": torch.__version__}
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    size = sum(p.stat().st_size for p in folder.iterdir())
    print(f"{name:20} {size:8} bytes", {n: f"{f['max_abs_fp32_vs_64'] / f['ref_rms']:.1e}" for n, f in noise.items()})


def old_spelling(tensors):
    return {n.replace("parametrizations.weight.original0", "weight_g").replace("parametrizations.weight.original1", "weight_v"): t
            for n, t in tensors.items()}


def both(model, run):
    """A run in float32 and in float64."""
    with torch.no_grad():
        return run(model, lambda t: t), run(copy.deepcopy(model).double(), lambda t: t.double() if t.is_floating_point() else t)


# --- SNAC

def make_snac(name, config, frames, batch, seed, spelled=lambda t: t):
    model = snac.SNAC(**config).eval()
    redraw(model, seed)
    with torch.no_grad():
        model.decoder.model[-2].parametrizations.weight.original0.mul_(0.5)  # keeps the last tanh from its ends
    strides = config["vq_strides"]
    generator = torch.Generator().manual_seed(seed)
    codes = [torch.randint(0, config["codebook_size"], (batch, frames * strides[0] // s), generator=generator) for s in strides]
    length, noises = frames * strides[0], []
    for rate in config["decoder_rates"]:
        length *= rate
        noises.append(torch.randn((batch, 1, length), generator=generator))

    def run(model, wide):
        drawn = torch.randn
        def decode(noises):
            queue = [wide(n) for n in noises]
            torch.randn = lambda *a, **k: queue.pop(0)
            try:
                return model.decode(codes)
            finally:
                torch.randn = drawn
        return {"z_q": model.quantizer.from_codes(codes), "audio": decode(noises),
                "audio_zero_noise": decode([torch.zeros_like(n) for n in noises])}

    outputs, references = both(model, run)
    inputs = {f"codes.{i}": c for i, c in enumerate(codes)}
    if config["noise"]:
        inputs |= {f"noise.{i}": n for i, n in enumerate(noises)}
    store(name, spelled(model.state_dict()), config, inputs, outputs, references, family="snac", seed=seed)


SNAC = dict(sampling_rate=24000, encoder_dim=3, encoder_rates=[2, 3], latent_dim=20, codebook_size=19, codebook_dim=5)


def snac_plain():
    config = dict(SNAC, decoder_dim=24, decoder_rates=[3, 2], attn_window_size=None, vq_strides=[2, 1], noise=True, depthwise=False)
    make_snac("snac_plain", config, frames=5, batch=2, seed=31, spelled=old_spelling)


def snac_windows():
    """Windows longer than a coarse frame: lengths have to be whole windows."""
    config = dict(SNAC, decoder_dim=128, decoder_rates=[2], attn_window_size=8, vq_strides=[4, 2, 1], noise=False, depthwise=True)
    make_snac("snac_windows", config, frames=4, batch=2, seed=32)


def snac_chunks():
    """The rates of the published 24 kHz model, for decoding in pieces."""
    config = dict(SNAC, decoder_dim=16, decoder_rates=[8, 8, 4, 2], attn_window_size=None, vq_strides=[4, 2, 1], noise=True, depthwise=True)
    make_snac("snac_chunks", config, frames=1, batch=1, seed=33)


# --- wav2vec 2.0, HuBERT

SPEECH = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, conv_dim=[12, 20, 16],
              conv_kernel=[6, 3, 2], conv_stride=[3, 2, 2], num_feat_extract_layers=3, num_conv_pos_embedding_groups=4,
              vocab_size=17, attn_implementation="eager")


def make_speech(name, model, output, shape, seed):
    model = model.eval()
    redraw(model, seed)
    inputs = {"input_values": draw("input_values", shape, seed)}
    outputs, references = both(model, lambda m, wide: {output: m(wide(inputs["input_values"]))[output]})
    config = model.config.to_dict() | {"architectures": [type(model).__name__]}
    store(name, model.state_dict(), config, inputs, outputs, references, family=model.config.model_type, seed=seed)


def wav2vec2_odd():
    config = Wav2Vec2Config(**SPEECH, num_conv_pos_embeddings=7, conv_bias=True, feat_extract_activation="gelu_new", hidden_act="relu")
    make_speech("wav2vec2_odd", Wav2Vec2Model(config), "last_hidden_state", (3, 301), 41)


def hubert_stable():
    config = HubertConfig(**SPEECH, num_conv_pos_embeddings=8, feat_extract_norm="layer", do_stable_layer_norm=True,
                          feat_proj_layer_norm=False, conv_bias=False, layer_norm_eps=1e-4)
    make_speech("hubert_stable", HubertForCTC(config), "logits", (1, 257), 42)


def wav2vec2_labels():
    config = Wav2Vec2Config(**SPEECH, num_conv_pos_embeddings=8, classifier_proj_size=10, id2label={0: "calm", 1: "glad", 2: "sad"},
                            label2id={"calm": 0, "glad": 1, "sad": 2})
    make_speech("wav2vec2_labels", Wav2Vec2ForSequenceClassification(config), "logits", (2, 290), 43)


def hubert_labels():
    """The sum of all layers, with norms before them."""
    config = HubertConfig(**SPEECH, num_conv_pos_embeddings=8, feat_extract_norm="layer", do_stable_layer_norm=True,
                          use_weighted_layer_sum=True, classifier_proj_size=14, num_labels=5)
    make_speech("hubert_labels", HubertForSequenceClassification(config), "logits", (1, 263), 44)


def wav2vec2_sum():
    """The sum of all layers, with norms after them."""
    config = Wav2Vec2Config(**SPEECH, num_conv_pos_embeddings=8, use_weighted_layer_sum=True, classifier_proj_size=9, num_labels=4)
    make_speech("wav2vec2_sum", Wav2Vec2ForSequenceClassification(config), "logits", (2, 271), 45)


# --- Kokoro

def istftnet():
    """kokoro.istftnet without the package's text side."""
    folder = pathlib.Path(importlib.util.find_spec("kokoro").submodule_search_locations[0])
    package = types.ModuleType("kokoro")
    package.__path__ = [str(folder)]
    sys.modules["kokoro"] = package
    sys.modules.setdefault("attr", types.ModuleType("attr")).attr = None
    net = importlib.import_module("kokoro.istftnet")
    net.weight_norm = torch.nn.utils.parametrizations.weight_norm  # versions differ in the spelling
    return net


def kokoro_small():
    """The whole decoder with narrow layers, the norms' own gains absent as in the published checkpoint."""
    net, seed, style, width, inner, rest, channels = istftnet(), 51, 6, 10, 14, 3, 16
    points, hop, rates, kernels = 8, 2, [3, 2], [5, 4]
    settings = dict(resblock_kernel_sizes=[3, 5], upsample_rates=rates, upsample_initial_channel=channels,
                    resblock_dilation_sizes=[[1, 2, 3], [1, 3, 5]], upsample_kernel_sizes=kernels, gen_istft_n_fft=points,
                    gen_istft_hop_size=hop)
    model = net.Decoder(width, style, 80, **settings)
    block = net.AdainResBlk1d
    model.encode = block(width + 2, inner, style)
    model.decode = torch.nn.ModuleList(
        [block(inner + rest + 2, inner, style) for _ in range(3)] + [block(inner + rest + 2, channels, style, upsample=True)])
    model.asr_res = torch.nn.Sequential(net.weight_norm(torch.nn.Conv1d(width, rest, kernel_size=1)))
    model.eval()

    def is_own(name):
        return ".norm." in name
    redraw(model, seed, skip=is_own)
    with torch.no_grad():
        model.generator.conv_post.parametrizations.weight.original0.mul_(0.2)

    frames, generator = 6, torch.Generator().manual_seed(seed)
    scale = hop * rates[0] * rates[1]
    f0 = torch.tensor([[220.0, 231.0, 0.0, 0.0, 180.0, 175.5]])
    inputs = {
        "asr": draw("asr", (1, width, frames // 2), seed), "f0": f0, "n": draw("n", (1, frames), seed),
        "ref_s": draw("ref_s", (1, style), seed), "noise.0": torch.rand((1, 9), generator=generator),
        "noise.1": torch.randn((1, scale * frames, 9), generator=generator),
        "noise.2": torch.randn((1, scale * frames, 1), generator=generator)}

    def source(model):
        queue = [inputs["noise.1"], inputs["noise.2"]]
        rand, randn_like = torch.rand, torch.randn_like
        torch.rand, torch.randn_like = (lambda *a, **k: inputs["noise.0"].clone()), (lambda *a, **k: queue.pop(0))
        try:
            generator = model.generator
            har, _, _ = generator.m_source(generator.f0_upsamp(f0[:, None]).transpose(1, 2))
            return torch.cat(generator.stft.transform(har.transpose(1, 2).squeeze(1)), 1)
        finally:
            torch.rand, torch.randn_like = rand, randn_like

    with torch.no_grad():
        inputs["har"] = source(model)

    class Given(torch.nn.Module):
        """A transform that gives the golden source, so that float64 starts from the same one."""
        def __init__(self, stft, har):
            super().__init__()
            self.stft, self.har = stft, har
        def transform(self, _):
            return self.har[:, :points // 2 + 1], self.har[:, points // 2 + 1:]
        def inverse(self, magnitude, phase):
            self.stft.window = torch.hann_window(points, periodic=True, dtype=magnitude.dtype)
            return self.stft.inverse(magnitude, phase)

    class Source(torch.nn.Module):
        def forward(self, f0):
            return f0[:, :, :1], None, None

    def run(model, wide):
        generator, made = model.generator, {}
        given = {n: wide(t) for n, t in inputs.items()}
        class Stop(torch.nn.Module):
            def forward(self, x, s, f0):
                made["x_pre"] = x
                return x
        model.generator = Stop()
        model(given["asr"], given["f0"], given["n"], given["ref_s"])
        inputs.setdefault("x_pre", made["x_pre"])
        model.generator = generator
        generator = copy.deepcopy(generator)
        generator.stft, generator.m_source = Given(generator.stft, given["har"]), Source()
        generator.conv_post.register_forward_hook(lambda m, i, o: made.update(conv_post=o))
        made["audio"] = generator(wide(inputs["x_pre"]), given["ref_s"], given["f0"])
        return made

    whole = copy.deepcopy(model)
    outputs, references = both(model, run)
    outputs["har"] = inputs["har"]
    tensors = {f"decoder.{n}": t for n, t in old_spelling(whole.state_dict()).items() if not is_own(n)}
    tensors |= {"bert.embeddings.weight": draw("bert", (2, 3), seed), "predictor.F0_proj.bias": draw("predictor", (1,), seed)}
    config = {"istftnet": settings, "hidden_dim": width, "style_dim": style, "n_token": 178}
    store("kokoro_small", tensors, config, inputs, outputs, references, family="kokoro", seed=seed)


def phonemes_kokoro():
    """From phonemes to audio, with narrow layers: all parts, each on the golden results of those before it."""
    net, seed, style, width, channels, phonemes, longest, n = istftnet(), 52, 4, 8, 8, 20, 6, 7
    modules = importlib.import_module("kokoro.modules")
    modules.weight_norm = net.weight_norm
    points, hop, rates = 8, 2, [3, 2]
    settings = dict(resblock_kernel_sizes=[3], upsample_rates=rates, upsample_initial_channel=channels,
                    resblock_dilation_sizes=[[1, 2, 3]], upsample_kernel_sizes=[5, 4], gen_istft_n_fft=points,
                    gen_istft_hop_size=hop)
    plbert = dict(hidden_size=12, num_attention_heads=3, intermediate_size=20, max_position_embeddings=32,
                  num_hidden_layers=2, embedding_size=6, dropout=0.1)
    vocabulary = {symbol: number for number, symbol in enumerate("$;:,.!?abdefkstʌə ˈ") if number}
    config = {"istftnet": settings, "hidden_dim": width, "style_dim": style, "n_token": phonemes, "n_layer": 2,
              "max_dur": longest, "text_encoder_kernel_size": 3, "dropout": 0.2, "plbert": plbert, "vocab": vocabulary}

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            settings_of_bert = AlbertConfig(vocab_size=phonemes, attn_implementation="eager", **plbert)
            self.bert = modules.CustomAlbert(settings_of_bert)
            self.bert_encoder = torch.nn.Linear(plbert["hidden_size"], width)
            self.predictor = modules.ProsodyPredictor(style_dim=style, d_hid=width, nlayers=2, max_dur=longest, dropout=0.2)
            self.text_encoder = modules.TextEncoder(channels=width, kernel_size=3, depth=2, n_symbols=phonemes)
            self.decoder = net.Decoder(width, style, 80, **settings)
            block, inner, rest = net.AdainResBlk1d, 10, 3
            self.decoder.encode = block(width + 2, inner, style)
            self.decoder.decode = torch.nn.ModuleList(
                [block(inner + rest + 2, inner, style) for _ in range(3)] + [block(inner + rest + 2, channels, style, upsample=True)])
            self.decoder.asr_res = torch.nn.Sequential(net.weight_norm(torch.nn.Conv1d(width, rest, kernel_size=1)))

    model = Model().eval()
    is_own = lambda name: ".norm." in name
    redraw(model, seed, skip=is_own)
    with torch.no_grad():
        model.decoder.generator.conv_post.parametrizations.weight.original0.mul_(0.2)
        for name, parameter in model.named_parameters():
            if name.endswith(("LayerNorm.weight", ".gamma")):
                parameter.add_(1)
        model.predictor.F0_proj.bias.fill_(180.0)
        model.predictor.F0_proj.weight.mul_(40)
        rows = model.predictor.duration_proj.linear_layer.weight
        rows.add_(48 * rows[:1].clone())  # durations that differ
        model.predictor.duration_proj.linear_layer.bias.add_(9.5)

    ids = torch.tensor([[0, 7, 15, 3, 11, 9, 0]])
    voice = draw("voice", (5, 1, 2 * style), seed)
    row = voice[len(ids[0]) - 3]  # of the text's five phonemes
    inputs = {"input_ids": ids, "style": row[:, style:], "ref_s": row[:, :style], "length": torch.tensor([n])}

    def text(model, wide):
        lengths, mask = torch.tensor([n]), torch.zeros((1, n), dtype=torch.bool)
        read = model.bert(ids, attention_mask=(~mask).int())
        d = model.predictor.text_encoder(model.bert_encoder(read).transpose(-1, -2), wide(inputs["style"]), lengths, mask)
        x, _ = model.predictor.lstm(d)
        return {"durations": torch.sigmoid(model.predictor.duration_proj(x)), "d": d,
                "t_en": model.text_encoder(ids, lengths, mask)}

    outputs, references = both(model, text)
    rounded = torch.round(outputs["durations"].sum(-1)).clamp(min=1).long()[0]
    indices = torch.repeat_interleave(torch.arange(n), rounded)
    inputs["en"] = outputs["d"][:, indices].transpose(1, 2)
    inputs["asr"] = outputs["t_en"][:, :, indices]

    def prosody(model, wide):
        f0, loudness = model.predictor.F0Ntrain(wide(inputs["en"]), wide(inputs["style"]))
        return {"f0": f0, "n": loudness}

    for made, more in zip((outputs, references), both(model, prosody)):
        made.update(more)
    frames, scale = 2 * len(indices), hop * rates[0] * rates[1]

    generator = torch.Generator().manual_seed(seed)
    noise = [torch.rand((1, 9), generator=generator), torch.randn((1, scale * frames, 9), generator=generator),
             torch.randn((1, scale * frames, 1), generator=generator)]

    def speech(model):
        """The audio, and the source: at both ends, where the signal is mirrored, some of its angles are pi or -pi by chance."""
        queue, sources = noise[1:], []
        stft = model.decoder.generator.stft
        transform = stft.transform
        def recorded(x):
            sources.append(transform(x))
            return sources[0]
        rand, randn_like = torch.rand, torch.randn_like
        torch.rand, torch.randn_like = (lambda *a, **k: noise[0].clone()), (lambda *a, **k: queue.pop(0))
        stft.transform = recorded
        try:
            audio = model.decoder(inputs["asr"], outputs["f0"], outputs["n"], inputs["ref_s"])
        finally:
            torch.rand, torch.randn_like = rand, randn_like
            del stft.transform
        return audio, torch.cat(sources[0], 1)

    with torch.no_grad():
        outputs["speech"], inputs["har"] = speech(model)
    inputs |= {f"noise.{i}": t for i, t in enumerate(noise[:2])}
    tensors = {n: t for n, t in old_spelling(model.state_dict()).items() if not is_own(n)}
    store("phonemes_kokoro", tensors, config, inputs, outputs, references, family="kokoro", seed=seed,
          durations=rounded.tolist(), phonemes=5)
    safetensors.torch.save_file({"voice": voice}, FIXTURES / "phonemes_kokoro" / "voice.safetensors", metadata={"format": "pt"})


FIXTURE = [
    snac_plain, snac_windows, snac_chunks, wav2vec2_odd, hubert_stable, wav2vec2_labels, hubert_labels, wav2vec2_sum, kokoro_small,
    phonemes_kokoro]


def main(names):
    known = {f.__name__: f for f in FIXTURE}
    if unknown := set(names) - set(known):
        sys.exit(f"no fixture is called {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        known[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
