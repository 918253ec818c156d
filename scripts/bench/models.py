"""The models of the bench of runs: checkpoints (random weights in real sizes, MiniLM's are its own), inputs, and what each peer reads.

usage: models.py FOLDER MINILM MODEL...     makes what FOLDER does not have yet (wants torch, transformers, safetensors)
FOLDER gets MODEL/ as the hub would have it, MODEL.SHAPE.safetensors with inputs, and MODEL.onnx, MODEL.tuned.onnx, both with .int8 too,
MODEL.ct2 and MODEL.gguf for those peers that run the model and are installed. litert.py makes what LiteRT reads.
"""

import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import real_sizes
import seeded


def whisper(width, layers, heads):
    inner = 4 * width
    return dict(real_sizes.WHISPER_SMALL, d_model=width, encoder_layers=layers, decoder_layers=layers, encoder_ffn_dim=inner, decoder_ffn_dim=inner,
                encoder_attention_heads=heads, decoder_attention_heads=heads)


# Qwen2's 0.5 B without its biases.
DECODER = dict(
    real_sizes.LLAMA_360M, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2,
    vocab_size=151936)

# Checkpoints that real_sizes.py writes: configuration and tensors.
CHECKPOINTS = {
    "whisper-tiny": (whisper(384, 4, 6), real_sizes.whisper),
    "whisper-base": (whisper(512, 6, 8), real_sizes.whisper),
    "whisper-small": (whisper(768, 12, 12), real_sizes.whisper),
    "decoder-0.5b": (DECODER, real_sizes.llama),
    "phi-3-mini": (real_sizes.PHI_3_MINI, real_sizes.phi3),
}
DECODERS = ("decoder-0.5b", "phi-3-mini")

# Encoders whose graphs onnxruntime's optimizer of transformers knows: its name for the kind, and heads.
TRANSFORMERS = {"minilm": ("bert", 12), "whisper-tiny": ("bart", 6), "whisper-base": ("bart", 8), "whisper-small": ("bart", 12),
                "vit-base": ("vit", 12)}


def installed(module):
    return importlib.util.find_spec(module) is not None


def network(folder, name):
    """The model in torch. It takes what is in its file of inputs, in that order, and gives one tensor."""
    if name in seeded.MAKERS:
        return seeded.network(name)
    import torch
    import transformers

    class First(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return self.model(*inputs)[0]

    load = dict(dtype=torch.float32)
    if name == "minilm":
        model = transformers.BertModel.from_pretrained(folder / name, **load)
    elif name.startswith("whisper"):
        model = transformers.WhisperModel.from_pretrained(folder / name, **load).encoder
    return First(model).eval()


def inputs(name, batch):
    """Tensors by the names of the package's ports."""
    if name in seeded.MAKERS:
        return seeded.inputs(name)
    import torch
    generator = torch.Generator().manual_seed(1)
    if name == "minilm":
        ids = torch.randint(1000, 30000, (batch, 128), generator=generator)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    if name.startswith("whisper"):
        return {"input_features": torch.randn((batch, 80, 3000), generator=generator)}


def write_inputs(path, name, batch):
    import safetensors.torch
    safetensors.torch.save_file(inputs(name, batch), path)


def write_tokens(path, tokens):
    """A block from an empty cache, or a step behind one of 512 tokens."""
    import numpy
    import safetensors.numpy
    ids = numpy.arange(100, 100 + tokens)[None]
    safetensors.numpy.save_file({"input_ids": ids, "position": numpy.array([0 if tokens > 1 else 512])}, path)


def write_gguf(path, folder, name):
    import gguf_file
    gguf_file.write(path, folder / name)


def write_onnx(path, folder, name, attention=None):
    import torch
    given, made = inputs(name, 1), network(folder, name)
    if attention:
        for module in made.children():
            module.set_attn_implementation(attention)
    axes = {port: {0: "batch"} for port in [*given, "y"]} if name == "minilm" else None
    torch.onnx.export(made, tuple(given.values()), path, input_names=list(given), output_names=["y"], dynamic_axes=axes,
                      opset_version=17, dynamo=False)


def write_tuned_onnx(path, folder, name):
    """With the fusions of onnxruntime's own optimizer, which knows the eager attention."""
    from onnxruntime.transformers import optimizer
    kind, heads = TRANSFORMERS[name]
    eager = path.with_name(f"{path.name}.eager")
    write_onnx(eager, folder, name, "eager")
    made = optimizer.optimize_model(str(eager), model_type=kind, num_heads=heads, hidden_size=0, opt_level=0)
    made.save_model_to_file(str(path))
    eager.unlink()


def write_int8_onnx(path, folder, name, source=".onnx"):
    """Products with weights in int8. Convolutions stay as they are."""
    import onnx
    from onnxruntime.quantization import quantize_dynamic
    # The types of fused operators' outputs are not inferred.
    quantize_dynamic(folder / f"{name}{source}", path, op_types_to_quantize=["MatMul", "Gemm", "Attention"],
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


def write_ct2(path, folder, name):
    from ctranslate2.converters import transformers as converter
    if name == "minilm":
        return converter.TransformersConverter(str(folder / name)).convert(str(path))
    import transformers
    model = transformers.WhisperForConditionalGeneration.from_pretrained(folder / name)
    spec = converter.WhisperLoader().get_model_spec(model)
    # The encoder asks for no words, but a file has to have some.
    spec.register_vocabulary(["<|endoftext|>", "<|startoftranscript|>"] + [f"w{index}" for index in range(2, model.config.vocab_size)])
    spec.validate()
    path.mkdir()
    spec.save(str(path))


def once(path, write, *arguments):
    """Made under another name first, so that nothing half-written is taken for whole."""
    if not path.exists():
        print(f"making {path.name}", file=sys.stderr, flush=True)
        partial = path.with_name(f"partial.{path.name}")
        write(partial, *arguments)
        partial.rename(path)


def make(folder, minilm, name):
    if name == "minilm":
        once(folder / name, lambda path: path.symlink_to(minilm))
    elif name in seeded.MAKERS:
        once(folder / name, seeded.write, name)
    elif name in CHECKPOINTS:
        real_sizes.MODELS[name] = (*CHECKPOINTS[name], 2.5e9, [])
        once(folder / name, real_sizes.make, name)
    if name in DECODERS:
        for tokens in (512, 1):
            once(folder / f"{name}.{tokens}.safetensors", write_tokens, tokens)
        if name == "decoder-0.5b" and installed("gguf"):
            once(folder / f"{name}.gguf", write_gguf, folder, name)
        return
    for batch in (1, 32) if name == "minilm" else (1,):
        once(folder / f"{name}.{batch}.safetensors", write_inputs, name, batch)
    if installed("onnxruntime") and installed("onnx"):
        once(folder / f"{name}.onnx", write_onnx, folder, name)
        if name in TRANSFORMERS:
            once(folder / f"{name}.tuned.onnx", write_tuned_onnx, folder, name)
            once(folder / f"{name}.int8.onnx", write_int8_onnx, folder, name)
            once(folder / f"{name}.tuned.int8.onnx", write_int8_onnx, folder, name, ".tuned.onnx")
    if installed("ctranslate2") and name not in seeded.MAKERS:
        once(folder / f"{name}.ct2", write_ct2, folder, name)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    for model in sys.argv[3:]:
        make(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), model)
