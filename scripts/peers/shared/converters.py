"""The formats' own converters, timed within this process."""

import shutil
import subprocess
import sys
import time
import types

import ctranslate2.converters.transformers
import llama_library
import numpy
import transformers

transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def seconds(kind, family, source, words, scratch):
    """The time of the converter for a scheme; None if it has no such scheme or family."""
    target = scratch / "theirs"
    shutil.rmtree(target, ignore_errors=True)
    return {"gguf": gguf, "mlx": mlx, "ctranslate2": ct2}.get(kind, lambda *_: None)(family, source, words, target)


class Fields:
    """A configuration with some fields under their old names."""

    def __init__(self, config, **fields):
        self.__dict__.update(_config=config, **fields)

    def __getattr__(self, name):
        return getattr(self._config, name)


class Converter(ctranslate2.converters.transformers.TransformersConverter):
    """CTranslate2's converter, with what it expects of transformers, and with the numbers that it leaves out."""

    completed = False

    def load_model(self, model_class, path, **options):
        model = super().load_model(model_class, path, **options)
        config = model.config
        rotary = getattr(config, "rope_parameters", None) or {}
        if config.model_type in ("bert", "roberta", "xlm-roberta"):
            model.__dict__["config"] = Fields(config, position_embedding_type="absolute")
        elif config.model_type == "gemma":
            model.__dict__["config"] = Fields(config, rope_theta=rotary["rope_theta"])
        elif config.model_type == "phi3":
            kind = rotary["rope_type"]
            model.__dict__["config"] = Fields(
                config, rope_theta=rotary["rope_theta"], rope_scaling=None if kind == "default" else dict(rotary, type=kind))
            factors = types.SimpleNamespace(
                long_factor=rotary.get("long_factor"), short_factor=rotary.get("short_factor"))
            for layer in model.model.layers:
                layer.self_attn.__dict__["rotary_emb"] = factors
        self.config = config
        return model

    def _load(self):
        spec = super()._load()
        config = self.config
        rotary = getattr(config, "rope_parameters", None) or {}
        added = {}
        if rotary.get("rope_type") == "llama3":
            added["rotary_scaling_factor"] = numpy.float32(rotary["factor"])
            added["original_max_position_embeddings"] = numpy.int32(rotary["original_max_position_embeddings"])
        width = getattr(config, "head_dim", None)
        if config.model_type == "llama" and width not in (None, config.hidden_size // config.num_attention_heads):
            added["head_dim"] = numpy.int32(width)
        kind, removed = rotary.get("rope_type"), []
        if config.model_type == "phi3" and kind == "default":
            original = getattr(config, "original_max_position_embeddings", 0)
            if original and config.max_position_embeddings // original > 1:
                removed = ["original_max_position_embeddings", "max_position_embeddings"]
        for layer in spec.decoder.layer if removed else []:
            for name in removed:
                delattr(layer.self_attention, name)
        for layer in spec.decoder.layer if added else []:
            layer.self_attention.__dict__.update(added)
        self.completed = bool(added or removed)
        if config.model_type == "phi3" and config.rms_norm_eps != 1e-6:
            spec.config.layer_norm_epsilon = config.rms_norm_eps
            self.completed = True
        return spec


def convert_ctranslate2(source, folder, kind):
    """Returns the seconds, and whether numbers were added that the converter leaves out."""
    converter = Converter(str(source), load_as_float16=kind in ("float16", "int8_float16"))
    start = time.perf_counter()
    converter.convert(str(folder), quantization=kind)
    return time.perf_counter() - start, converter.completed


def ct2(family, source, words, target):
    kind = words[-1]
    return convert_ctranslate2(source, target, None if kind == "own" else kind)[0]


def mlx(family, source, words, target):
    """mlx-lm's own steps: load, quantize, save."""
    import mlx.core as mx
    import mlx_lm.utils
    scheme, _, options = words[-1].partition(":")
    values = dict(option.split("=") for option in options.split(",") if option)
    if scheme not in ("affine", "float32", "float16", "bfloat16"):
        return None
    start = time.perf_counter()
    model, config = mlx_lm.utils.load_model(source)
    if scheme == "affine":
        model, config = mlx_lm.utils.quantize_model(
            model, config, group_size=int(values.get("block", 32)), bits=int(values["bits"]))
    else:
        model.set_dtype(getattr(mx, scheme))
    target.mkdir(parents=True)
    mlx_lm.utils.save_model(target, model)
    return time.perf_counter() - start


def gguf(family, source, words, target):
    """llama.cpp's quantizer, from the float32 file that accelc writes; its converter in Python takes no tokenizer of words."""
    llama = llama_library.llama
    names = {name.removeprefix("LLAMA_FTYPE_").removeprefix("MOSTLY_").removeprefix("ALL_").lower(): value
             for name, value in vars(llama).items() if name.startswith("LLAMA_FTYPE_")}
    scheme = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "q3_k": "q3_k_s", "q4_k": "q4_k_s", "q5_k": "q5_k_s"}.get(
        words[-1], words[-1])
    if scheme not in names:
        return None
    plain = target.parent / f"{family}-float32-gguf"
    if not plain.exists():
        subprocess.run(
            [sys.argv[1], "export", source, "--format", "gguf", "--compress", "float32", "--no-cache", "--quiet", "-o", plain], check=True)
    target.mkdir(parents=True)
    settings = llama.llama_model_quantize_default_params()
    settings.ftype, settings.pure, settings.nthread = names[scheme], True, 2
    start = time.perf_counter()
    if llama.llama_model_quantize(str(plain / "model.gguf").encode(), str(target / "model.gguf").encode(), settings) != 0:
        raise RuntimeError("llama_model_quantize fails")
    return time.perf_counter() - start
