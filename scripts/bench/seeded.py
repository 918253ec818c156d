"""Models of the bench of runs that are made of their own framework's code with seeded weights: ViT-base, and the published sizes of SNAC at
24 kHz and of Kokoro's vocoder. Nothing is read but the names that the functions below get.
"""

import importlib.util
import json
import pathlib
import sys
import types

SNAC = dict(sampling_rate=24000, encoder_dim=48, encoder_rates=[2, 4, 8, 8], decoder_dim=1024, decoder_rates=[8, 8, 4, 2],
            attn_window_size=None, codebook_size=4096, codebook_dim=8, vq_strides=[4, 2, 1], noise=True, depthwise=True)
SNAC_FRAMES = 12  # of the coarsest codes: 12 * 2,048 samples, a second of audio
KOKORO = dict(upsample_kernel_sizes=[20, 12], upsample_rates=[10, 6], gen_istft_hop_size=5, gen_istft_n_fft=20,
              resblock_dilation_sizes=[[1, 3, 5]] * 3, resblock_kernel_sizes=[3, 7, 11], upsample_initial_channel=512)
KOKORO_WIDTH, KOKORO_STYLE, KOKORO_FRAMES = 512, 128, 240  # 240 * 300 samples, three seconds of audio


def vit():
    import transformers
    return transformers.ViTModel(transformers.ViTConfig())


def snac():
    from snac import SNAC as Codec
    return Codec(**SNAC)


def kokoro():
    """kokoro.istftnet without the package's text side, with the inverse transform that its authors export: it is made of convolutions, and does
    not divide by the window's energy, so the audio of this model is not the package's."""
    import torch
    if "kokoro" not in sys.modules:
        spec = importlib.util.find_spec("kokoro")
        if spec is None:
            raise ModuleNotFoundError(name="kokoro")
        package = types.ModuleType("kokoro")
        package.__path__ = [str(pathlib.Path(spec.submodule_search_locations[0]))]
        sys.modules["kokoro"] = package
    net = importlib.import_module("kokoro.istftnet")
    net.weight_norm = torch.nn.utils.parametrizations.weight_norm
    return net.Decoder(KOKORO_WIDTH, KOKORO_STYLE, 80, **KOKORO, disable_complex=True)


MAKERS = {"vit-base": vit, "snac": snac, "kokoro": kokoro}


def model(name):
    import torch
    torch.manual_seed(1)
    return MAKERS[name]().eval()


def write(path, name):
    """The checkpoint as the hub has it."""
    import safetensors.torch
    made = model(name)
    if name == "vit-base":
        made.save_pretrained(path)
        return
    path.mkdir()
    prefix = "decoder." if name == "kokoro" else ""
    tensors = {prefix + key.replace("parametrizations.weight.original0", "weight_g").replace("parametrizations.weight.original1", "weight_v"):
               tensor.contiguous() for key, tensor in made.state_dict().items() if ".stft." not in key}
    safetensors.torch.save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    config = SNAC if name == "snac" else {"istftnet": KOKORO, "hidden_dim": KOKORO_WIDTH, "style_dim": KOKORO_STYLE, "n_token": 178}
    (path / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def inputs(name):
    """Tensors by the names of the package's ports, in the order that the network takes them in."""
    import torch
    generator = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(shape, generator=generator)
    if name == "vit-base":
        return {"pixel_values": normal(1, 3, 224, 224)}
    if name == "kokoro":
        return {"x_pre": normal(1, KOKORO["upsample_initial_channel"], KOKORO_FRAMES), "ref_s": normal(1, KOKORO_STYLE),
                "har": normal(1, KOKORO["gen_istft_n_fft"] + 2, 60 * KOKORO_FRAMES + 1)}
    longest = SNAC["vq_strides"][0]
    codes = {f"codes.{index}": torch.randint(SNAC["codebook_size"], (1, SNAC_FRAMES * longest // stride), generator=generator)
             for index, stride in enumerate(SNAC["vq_strides"])}
    length, noises = SNAC_FRAMES * longest, {}
    for index, rate in enumerate(SNAC["decoder_rates"]):
        length *= rate
        noises[f"noise.{index}"] = normal(1, 1, length)
    return codes | noises


def network(name):
    """The model in torch, with plain weights in place of normalised ones. It takes the inputs in their order, and gives one tensor."""
    import torch

    def repeated(tensor, count, dim):
        """As Tensor.repeat_interleave, which the export to ONNX gets wrong."""
        assert dim == -1
        return tensor[..., None].expand(*tensor.shape, count).reshape(*tensor.shape[:-1], -1)

    class First(torch.nn.Module):
        def __init__(self, made):
            super().__init__()
            self.made = made

        def forward(self, pixels):
            return self.made(pixels)[0]

    class Codes(torch.nn.Module):
        """A decoder whose noise is given, not drawn."""

        def __init__(self, made):
            super().__init__()
            self.made = made

        def forward(self, *tensors):
            count = len(SNAC["vq_strides"])
            noises, drawn, own = list(tensors[count:]), torch.randn, torch.Tensor.repeat_interleave
            torch.randn, torch.Tensor.repeat_interleave = lambda *shape, **options: noises.pop(0), repeated
            try:
                return self.made.decode(list(tensors[:count]))
            finally:
                torch.randn, torch.Tensor.repeat_interleave = drawn, own

    class Given(torch.nn.Module):
        """A transform that has the spectrum of the source already."""

        def __init__(self, transform):
            super().__init__()
            self.own, self.har = transform, None

        def transform(self, _):
            return self.har, self.har[:, :0]

        def inverse(self, magnitude, phase):
            return self.own.inverse(magnitude, phase)

    class Unused(torch.nn.Module):
        def forward(self, f0):
            return f0, None, None

    class Vocoder(torch.nn.Module):
        def __init__(self, generator):
            super().__init__()
            self.generator = generator
            generator.stft, generator.m_source, generator.f0_upsamp = Given(generator.stft), Unused(), torch.nn.Identity()

        def forward(self, x, style, har):
            self.generator.stft.har = har
            return self.generator(x, style, style[:, :1])

    made = model(name)
    for module in made.modules():
        if torch.nn.utils.parametrize.is_parametrized(module, "weight"):
            torch.nn.utils.parametrize.remove_parametrizations(module, "weight")
    return First(made) if name == "vit-base" else Codes(made) if name == "snac" else Vocoder(made.generator)
