"""The framework's own forward of a case, in float32 as its users run it and in float64 throughout, by the names that golden files have."""

import copy
import importlib.util
import json
import pathlib
import sys
import types

import safetensors.torch
import torch
import transformers
from torch.overrides import TorchFunctionMode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cases
import fixtures_decoders
import fixtures_parakeet

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class Float64(TorchFunctionMode):
    """Runs what code asks to do in float32, such as the norms and the softmax of transformers, in float64."""

    def __torch_function__(self, function, kinds, arguments=(), options=None):
        def widened(value):
            return torch.float64 if value is torch.float32 else value
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        return function(*map(widened, arguments), **{name: widened(value) for name, value in (options or {}).items()})


class Setting:
    """One of the ways in which torch adds the products of float32."""

    def __init__(self, threads, onednn, attention):
        self.threads, self.onednn, self.attention = threads, onednn, attention

    def __enter__(self):
        self.before = torch.get_num_threads(), torch.backends.mkldnn.enabled
        torch.set_num_threads(self.threads)
        torch.backends.mkldnn.enabled = self.onednn

    def __exit__(self, *_):
        torch.set_num_threads(self.before[0])
        torch.backends.mkldnn.enabled = self.before[1]


SETTINGS = [Setting(1, False, "eager"), Setting(1, True, "sdpa"), Setting(2, True, "eager"), Setting(2, False, "sdpa")]


class Transformers:
    """A model of transformers: an encoder, a decoder with its cache, or one of speech."""

    def __init__(self, folder, case):
        name = json.loads((folder / "config.json").read_text())["architectures"][0]
        kind = getattr(transformers, name)
        self.case = case
        # ModernBERT's and Parakeet's eager attention gives rows of padding other values, or none in float64.
        known = ["sdpa"] if name.startswith(("ModernBert", "Parakeet")) else ["eager", "sdpa"] if kind._supports_sdpa else ["eager"]
        models = {way: kind.from_pretrained(folder, dtype=torch.float32, attn_implementation=way).eval() for way in known}
        self.models = {way: models.get(way, models[known[0]]) for way in ("eager", "sdpa")}
        self.wide = copy.deepcopy(models[known[0]]).double()
        self.pooling = self.pooling_of(folder) if name == "BertModel" else None

    @staticmethod
    def pooling_of(folder):
        if not (folder / "modules.json").exists():
            return dict(mode="mean", normalise=True)
        modules = [module["type"].rsplit(".", 1)[-1] for module in json.loads((folder / "modules.json").read_text())]
        pooling = json.loads((folder / "1_Pooling/config.json").read_text())
        return dict(mode="cls" if pooling["pooling_mode_cls_token"] else "mean", normalise="Normalize" in modules)

    def run(self, model, inputs):
        if self.case["family"] == "parakeet" and "decoder_input_ids" in inputs:
            return fixtures_parakeet.parts(model, inputs)
        if "decoder_input_ids" in inputs:
            fixtures_decoders.KV_LENGTH = self.case["kv_len"]
            return fixtures_decoders.speech(model, inputs["input_features"], inputs["decoder_input_ids"], self.case["prefill"])
        if "prefill" in self.case:
            fixtures_decoders.KV_LENGTH = self.case["kv_len"]
            return fixtures_decoders.forward(model, inputs["input_ids"], self.case["prefill"])
        pooling = self.pooling if "attention_mask" in inputs else None
        return cases.forward(model, inputs, pooling)

    def in_float32(self, inputs, setting):
        with setting:
            return self.run(self.models[setting.attention], inputs)

    def in_float64(self, inputs):
        with Float64():
            return self.run(self.wide, {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()})


class Codec:
    """A decoder of SNAC, whose noise is given."""

    def __init__(self, folder, case):
        import snac
        self.model = snac.SNAC(**json.loads((folder / "config.json").read_text())).eval()
        tensors = safetensors.torch.load_file(folder / "model.safetensors")
        spelled = {name.replace("weight_g", "parametrizations.weight.original0").replace("weight_v", "parametrizations.weight.original1"): tensor
                   for name, tensor in tensors.items()}
        self.model.load_state_dict(spelled)
        self.wide = copy.deepcopy(self.model).double()

    @staticmethod
    def run(model, inputs):
        codes = [inputs[f"codes.{index}"] for index in range(sum(name.startswith("codes.") for name in inputs))]
        noises = [inputs[f"noise.{index}"] for index in range(sum(name.startswith("noise.") for name in inputs))]
        drawn = torch.randn

        def decode(given):
            given = list(given)
            torch.randn = lambda *shape, **options: given.pop(0)
            try:
                return model.decode(codes)
            finally:
                torch.randn = drawn
        with torch.no_grad():
            return {"z_q": model.quantizer.from_codes(codes), "audio": decode(noises),
                    "audio_zero_noise": decode(torch.zeros_like(noise) for noise in noises)}

    def in_float32(self, inputs, setting):
        with setting:
            return self.run(self.model, inputs)

    def in_float64(self, inputs):
        return self.run(self.wide, {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in inputs.items()})


class Vocoder:
    """Kokoro's generator with a given source, and what precedes it where the checkpoint has that."""

    def __init__(self, folder, case):
        self.net = vocoder_module()
        config = json.loads((folder / "config.json").read_text())
        self.settings, style = config["istftnet"], config["style_dim"]
        tensors = {name.removeprefix("decoder."): tensor for name, tensor in safetensors.torch.load_file(folder / "model.safetensors").items()
                   if name.startswith("decoder.")}
        tensors = {name.replace("weight_g", "parametrizations.weight.original0").replace("weight_v", "parametrizations.weight.original1"): tensor
                   for name, tensor in tensors.items()}
        generator = self.net.Generator(style, **self.settings).eval()
        own = generator.state_dict()
        found = {name.removeprefix("generator."): tensor for name, tensor in tensors.items() if name.startswith("generator.")}
        # The published checkpoint lacks the gains of its norms, which are 1 and 0.
        missing = generator.load_state_dict({name: tensor for name, tensor in found.items() if name in own}, strict=False).missing_keys
        if unknown := [name for name in missing if ".norm." not in name and not name.startswith("stft")]:
            raise ValueError(f"the checkpoint has no {unknown[0]}")
        self.model, self.wide = generator, copy.deepcopy(generator).double()

    def run(self, generator, inputs):
        points, made = self.settings["gen_istft_n_fft"], {}

        class Given(torch.nn.Module):
            def __init__(self, own):
                super().__init__()
                self.own = own

            def transform(self, _):
                return inputs["har"][:, :points // 2 + 1], inputs["har"][:, points // 2 + 1:]

            def inverse(self, magnitude, phase):
                self.own.window = torch.hann_window(points, periodic=True, dtype=magnitude.dtype)
                return self.own.inverse(magnitude, phase)

        class Source(torch.nn.Module):
            def forward(self, f0):
                return f0[:, :, :1], None, None
        generator = copy.deepcopy(generator)
        generator.stft, generator.m_source = Given(generator.stft), Source()
        generator.conv_post.register_forward_hook(lambda module, given, output: made.update(conv_post=output))
        with torch.no_grad():
            made["audio"] = generator(inputs["x_pre"], inputs["ref_s"], inputs["f0"])
        return made

    def in_float32(self, inputs, setting):
        with setting:
            return self.run(self.model, inputs)

    def in_float64(self, inputs):
        return self.run(self.wide, {name: tensor.double() for name, tensor in inputs.items()})


class Blocks:
    """Kokoro's residual blocks with adaptive norms, one after the other."""

    def __init__(self, folder, case):
        config = json.loads((folder / "config.json").read_text())
        block = vocoder_module().AdainResBlk1d
        self.model = torch.nn.Module()
        self.model.blocks = torch.nn.ModuleList(block(*widths, config["style_dim"], upsample=True if up else "none") for *widths, up in config["dims"])
        self.model.load_state_dict(safetensors.torch.load_file(folder / "model.safetensors"))
        self.model.eval()
        self.wide = copy.deepcopy(self.model).double()

    @staticmethod
    def run(model, inputs):
        x, outputs = inputs["x"], {}
        for index, block in enumerate(model.blocks):
            with torch.no_grad():
                x = outputs[f"y.{index}"] = block(x, inputs["ref_s"])
        return outputs

    def in_float32(self, inputs, setting):
        with setting:
            return self.run(self.model, inputs)

    def in_float64(self, inputs):
        return self.run(self.wide, {name: tensor.double() for name, tensor in inputs.items()})


def vocoder_module():
    """kokoro.istftnet without the package's text side."""
    if "kokoro" not in sys.modules:
        package = types.ModuleType("kokoro")
        package.__path__ = [str(pathlib.Path(importlib.util.find_spec("kokoro").submodule_search_locations[0]))]
        sys.modules["kokoro"] = package
    net = importlib.import_module("kokoro.istftnet")
    net.weight_norm = torch.nn.utils.parametrizations.weight_norm
    return net


def framework(folder, case):
    """What runs a case again."""
    if case["family"] == "snac":
        return Codec(folder, case)
    if case["family"] == "kokoro":
        return (Vocoder if "istftnet" in json.loads((folder / "config.json").read_text()) else Blocks)(folder, case)
    return Transformers(folder, case)
