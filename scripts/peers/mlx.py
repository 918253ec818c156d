"""MLX folders of accelc against MLX itself.

usage: mlx.py ACCELC [FOLDER]      (wants mlx[cpu], mlx-lm, mlx-whisper, torch; exits 3 with the command that installs them when one is
missing)
Every number of bits, in groups of 32 and 64, and the floating-point modes: codes, scales and biases have the bytes of
`mx.quantize`; mlx-lm loads the folder, strictly, and its logits are those of accelc's runtime for the decoded weights; so with
symmetric integers, with several schemes and plain layers. Then decoders of every family, unquantized: mlx-lm's logits are those of
transformers. Then gpt2, and Whisper in mlx-whisper. Exits 1 on a difference.
"""

import json
import pathlib
import sys
import tempfile

# The folder of this script has names of packages; the one of shared code has none.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared"), str(HERE.parent)] + [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
try:
    import mlx.core as mx
    import mlx_lm.utils
    import numpy
    import safetensors.numpy
    import torch
    import transformers
    from checks import accelc, check, finish
    from runtimes import whisper_mlx

    mlx_whisper = whisper_mlx.classes()
except ImportError as error:
    print(
        f"mlx: skipped, since {error.name} is missing: pip install 'mlx[cpu]' mlx-lm mlx-whisper safetensors torch", file=sys.stderr)
    sys.exit(3)

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
FIXTURES = HERE.parent.parent / "Tests/Fixtures"
SOURCE = FIXTURES / "llama_bfloat16"
# Decoders, and the rejection of those that mlx-lm's class cannot compute.
DECODERS = {
    "llama_bfloat16": None, "llama_llama3": None, "llama_linear_old": None, "llama_yarn": None, "llama_proportional": None,
    "mistral_window": None, "qwen2_window": None, "qwen3_small": "has no bias", "phi3_long": None,
    "phi3_partial": "rotates an even number", "gemma_early": None, "gemma3_old": "has no cap of logits",
    "gpt2_small": "has inner layers of 4 * n_embd",
}
# How far logits may be apart: gemma's class computes gelu exactly, where the model has the approximation by tanh; that of
# gemma3_text rounds the scale of the embeddings to bfloat16.
LIMITS = {"gemma_early": 1e-3, "Gemma3Text": 1e-3}
SMALL = dict(
    hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=64, vocab_size=47,
    head_dim=8, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
# Models of the classes that the fixtures reach in no way that mlx-lm can compute.
MADE = {
    "Qwen3": dict(tie_word_embeddings=False),
    "Gemma3Text": dict(
        sliding_window=4, layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        rope_parameters=dict(
            full_attention=dict(rope_type="linear", rope_theta=40000.0, factor=2.0),
            sliding_attention=dict(rope_type="default", rope_theta=800.0))),
    "Phi3": dict(rope_parameters=dict(rope_type="default", rope_theta=3000.0, partial_rotary_factor=0.5)),
}
mx.set_default_device(mx.cpu)


def export(source, folder, *words):
    return accelc("export", source, "--format", "mlx", "-o", folder, "--no-cache", *words)


def logits(folder, tokens):
    """In float32, so that only the weights' encoding tells models apart."""
    model, _ = mlx_lm.utils.load_model(folder)
    model.set_dtype(mx.float32)
    return numpy.array(model(mx.array(tokens, dtype=mx.int32)))


def golden(name):
    return safetensors.numpy.load_file(FIXTURES / name / "golden.safetensors")


def apart(left, right):
    return float(numpy.abs(left.astype(numpy.float64) - right).max() / numpy.abs(right).max())


def by_accelc(folder, tokens, scratch):
    """The logits of accelc's own runtime for the decoded weights."""
    batch, count = tokens.shape
    package, inputs, outputs = (scratch / name for name in ("back.accelpkg", "in.safetensors", "out.safetensors"))
    safetensors.numpy.save_file({"input_ids": tokens, "position": numpy.array([0], dtype=numpy.int64)}, inputs)
    shape = f"batch={batch},tokens={count},cache={count}"
    code, error = accelc("convert", folder, "--compress", "float32", "--shape", shape, "--no-cache", "-o", package)
    if code == 0:
        code, error = accelc("run", package, "--inputs", inputs, "--outputs", outputs)
    if code != 0:
        sys.exit(f"accelc: {error}")
    return safetensors.numpy.load_file(outputs)["logits"]


# Each scheme with the mode, the numbers of bits and of weights in a group that MLX has for it.
SCHEMES = {
    f"affine:bits={bits},block={group},scales=weight,fit=mlx": ("affine", bits, group)
    for bits in (2, 3, 4, 5, 6, 8) for group in (32, 64)
} | {
    "mxfp4:fit=mlx": ("mxfp4", 4, 32), "mxfp8:fit=mlx": ("mxfp8", 8, 32), "nvfp4:global=none,fit=mlx": ("nvfp4", 4, 16),
}


def combinations(scratch):
    source = mx.load(str(SOURCE / "model.safetensors"))
    tokens = golden(SOURCE.name)["in.input_ids"]
    for scheme, (mode, bits, group) in SCHEMES.items():
        folder = scratch / f"{mode}{bits}g{group}"
        code, error = export(SOURCE, folder, "--compress", scheme, "--allow-fallback")
        if code != 0:
            check(f"{scheme}: {error}", False)
            continue
        written = mx.load(str(folder / "model.safetensors"))
        layers = [name.removesuffix(".scales") for name in written if name.endswith(".scales")]
        same = True
        for layer in layers:
            parts = mx.quantize(source[f"{layer}.weight"], group_size=group, bits=bits, mode=mode)
            for part, tensor in zip(("weight", "scales", "biases"), parts):
                own = written[f"{layer}.{part}"]
                same &= own.dtype == tensor.dtype and own.shape == tensor.shape
                same &= bool(mx.array_equal(own.view(mx.uint8), tensor.view(mx.uint8)).item())
        check(f"{scheme}: the bytes of mx.quantize in {len(layers)} layers", same and len(layers) >= 14)
        difference = apart(logits(folder, tokens), by_accelc(folder, tokens, scratch))
        check(f"{scheme}: logits of mlx-lm and of accelc {difference:.1e} apart", difference < 2e-5)


def integers(scratch):
    """Symmetric integers, which accelc keeps when it reads the folder."""
    tokens = golden(SOURCE.name)["in.input_ids"]
    for index, scheme in enumerate(("int4", "int4:block=channel,scales=float32", "int8", "int8:axis=tensor")):
        folder = scratch / f"integers{index}"
        code, error = export(SOURCE, folder, "--compress", scheme, "--allow-fallback")
        if code != 0:
            check(f"{scheme}: {error}", False)
            continue
        difference = apart(logits(folder, tokens), by_accelc(folder, tokens, scratch))
        check(f"{scheme}: logits of mlx-lm and of accelc {difference:.1e} apart", difference < 2e-5)


def gpt2(scratch):
    source = FIXTURES / "mlx/gpt2"
    data = safetensors.numpy.load_file(FIXTURES / "mlx/gpt2_affine.golden.safetensors")
    tokens = data["in.input_ids"]
    for scheme, name in (("stored", "plain.logits"), ("affine:bits=4,block=32,scales=weight,fit=mlx", "out.logits")):
        folder = scratch / f"gpt2-{name}"
        code, error = export(source, folder, "--compress", scheme)
        if code != 0:
            check(f"gpt2, {scheme}: {error}", False)
            continue
        difference = apart(logits(folder, tokens), data[name])
        check(f"gpt2, {scheme}: logits of mlx-lm for its own folder and for this {difference:.1e} apart", difference < 1e-6)
        difference = apart(logits(folder, tokens), by_accelc(folder, tokens, scratch))
        check(f"gpt2, {scheme}: logits of mlx-lm and of accelc {difference:.1e} apart", difference < 2e-5)
        if name == "plain.logits":
            with torch.no_grad():
                model = transformers.GPT2LMHeadModel.from_pretrained(source).eval()
                expected = model(torch.from_numpy(tokens)).logits.numpy()
            difference = apart(logits(folder, tokens), expected)
            check(f"gpt2, {scheme}: logits of mlx-lm and of transformers {difference:.1e} apart", difference < 1e-5)


def whisper(scratch):
    source = FIXTURES / "mlx/whisper"
    data = safetensors.numpy.load_file(FIXTURES / "mlx/whisper_affine.golden.safetensors")
    mel, tokens = mx.array(data["in.mel"]), mx.array(data["in.tokens"], dtype=mx.int32)
    for scheme, name in (("stored", "plain.logits"), ("affine:bits=4,block=32,scales=weight,fit=mlx", "out.logits")):
        folder = scratch / f"whisper-{name}"
        code, error = export(source, folder, "--compress", scheme, "--allow-fallback")
        if code != 0:
            check(f"whisper, {scheme}: {error}", False)
            continue
        model = mlx_whisper.load_models.load_model(str(folder), mx.float32)
        found = numpy.array(model(mel, tokens))
        difference = apart(found, data[name])
        check(f"whisper, {scheme}: logits of mlx-whisper for its own folder and for this {difference:.1e} apart", difference < 1e-6)
        check(f"whisper, {scheme}: alignment heads", model.alignment_heads.tolist() == [[0, 3], [1, 1]])
        if name == "plain.logits":
            with torch.no_grad():
                model = transformers.WhisperForConditionalGeneration.from_pretrained(source).eval()
                features = torch.from_numpy(data["in.mel"]).transpose(1, 2)
                expected = model(input_features=features, decoder_input_ids=torch.from_numpy(data["in.tokens"])).logits.numpy()
            difference = apart(found, expected)
            check(f"whisper, {scheme}: logits of mlx-whisper and of transformers {difference:.1e} apart", difference < 1e-5)


def mixed(scratch):
    recipe = scratch / "mixed.json"
    recipe.write_text(json.dumps({"default": "affine:bits=4,block=32,scales=weight", "rules": [
        {"match": "lm_head.weight", "compress": "affine:bits=8,block=64,scales=weight,fit=mlx"},
        {"match": "*.0.self_attn.v_proj.weight", "compress": "affine:bits=6,block=32,scales=float16,fit=hqq"},
        {"match": "*.k_proj.weight", "compress": "stored"}]}))
    folder, again = scratch / "mixed", scratch / "mixed-of-package"
    code, error = export(SOURCE, folder, "--recipe", recipe)
    check(f"a recipe with four schemes is exported {error}", code == 0)
    tokens = golden(SOURCE.name)["in.input_ids"]
    difference = apart(logits(folder, tokens), by_accelc(folder, tokens, scratch))
    check(f"four schemes: logits of mlx-lm and of accelc {difference:.1e} apart", difference < 2e-5)
    accelc("convert", SOURCE, "--recipe", recipe, "--no-cache", "-o", scratch / "mixed.accelpkg")
    code, error = export(scratch / "mixed.accelpkg", again)
    same = code == 0 and all(
        (folder / name).read_bytes() == (again / name).read_bytes() for name in ("model.safetensors", "config.json"))
    check(f"an export of the package has the same bytes {error}", same)


def compare(name, source, folder, tokens, expected, limit):
    code, error = export(source, folder, "--compress", "stored")
    if code != 0:
        return check(f"{name}: {error}", False)
    config = json.loads((source / "config.json").read_text())
    # Within the window a model without windows computes the same.
    window = None if config["model_type"] == "gemma3_text" else config.get("sliding_window")
    try:
        found = logits(folder, tokens)
    except Exception as problem:
        return check(f"{name}: mlx-lm: {problem}", False)
    distance = apart(found[:, :window], expected[:, :window])
    check(f"{name}: logits of mlx-lm and of transformers {distance:.1e} apart", distance < limit)


def families(scratch):
    for name, rejection in DECODERS.items():
        if rejection:
            code, error = export(FIXTURES / name, scratch / name, "--compress", "stored")
            check(f"{name}: {error}", code == 2 and rejection in error)
            continue
        data = golden(name)
        limit = LIMITS.get(name, 1e-5)
        compare(name, FIXTURES / name, scratch / name, data["in.input_ids"], data["ref64.logits_full"], limit)


def made(scratch):
    torch.manual_seed(7)
    tokens = torch.randint(1, SMALL["vocab_size"], (2, 12))
    for kind, more in MADE.items():
        stem = kind.removesuffix("Text")
        model = getattr(transformers, f"{stem}ForCausalLM")(getattr(transformers, f"{kind}Config")(**SMALL | more)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
            expected = model(input_ids=tokens, use_cache=False).logits.numpy()
        source = scratch / f"{kind}-source"
        model.save_pretrained(source)
        compare(kind, source, scratch / kind, tokens.numpy(), expected, LIMITS.get(kind, 1e-5))


with tempfile.TemporaryDirectory() as folder:
    combinations(pathlib.Path(folder))
    integers(pathlib.Path(folder))
    mixed(pathlib.Path(folder))
    families(pathlib.Path(folder))
    made(pathlib.Path(folder))
    gpt2(pathlib.Path(folder))
    whisper(pathlib.Path(folder))
finish("mlx")
