"""GGUF files of accelc against llama.cpp itself.

usage: gguf.py ACCELC [FOLDER]      (wants gguf, numpy, safetensors, torch, transformers, and llama.cpp, which scripts/bench/llama.sh
builds; exits 3 with the command that installs them when one is missing)
Every type: the blocks of an export have the bytes of ggml's quantizer, and decode to the numbers of gguf-py, bit by bit. Decoders of
every family: the logits of libllama are those of transformers, and in types of fewer bits within what its rounded activations cost.
BERT: the hidden states, and the kind of pooling. MXFP4: the numbers of gguf-py. Exits 1 on a difference.
"""

import ctypes
import json
import pathlib
import sys
import tempfile

# The folder of this script has names of packages; the one of shared code has none.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared"), str(HERE.parent)] + [
    entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
try:
    import gguf
    import numpy
    import safetensors.numpy
    import safetensors.torch
    import torch
    import transformers
    from checks import accelc, apart, check, finish
    from gguf_models import SMALL, export, made
    from llama_library import BINARIES, Loaded
except ImportError as error:
    print(f"gguf: skipped, since {error.name} is missing: pip install gguf safetensors torch transformers (llama.cpp: scripts/bench/llama.sh)", file=sys.stderr)
    sys.exit(3)

TYPES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "IQ3_S", "IQ3_XXS",
         "IQ2_S", "IQ2_XS", "IQ2_XXS", "TQ1_0", "TQ2_0")
# The types that ggml quantizes without regard to an importance matrix.
PLAIN = ("Q8_0", "TQ1_0", "TQ2_0")
# The types that it quantizes with one only: without, accelc has the bytes for an importance of ones.
WEIGHTED = ("IQ2_XS", "IQ2_XXS")
LLAMA3 = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
# Models of every family, with what their rotary embeddings and windows can be.
MADE = {
    "llama": ("Llama", {}),
    "llama, biases and tied": ("Llama", dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "llama, llama3": ("Llama", dict(rope_parameters=LLAMA3)),
    "llama, linear": ("Llama", dict(rope_parameters=dict(rope_type="linear", rope_theta=3000.0, factor=3.0))),
    "llama, yarn": ("Llama", dict(rope_parameters=dict(
        rope_type="yarn", rope_theta=900.0, factor=4.0, original_max_position_embeddings=16))),
    "llama, wide heads": ("Llama", dict(head_dim=24)),
    "mistral": ("Mistral", dict(sliding_window=None)),
    "qwen2": ("Qwen2", dict(use_sliding_window=False)),
    "qwen3": ("Qwen3", dict(head_dim=32, tie_word_embeddings=True)),
    "phi3": ("Phi3", dict(rope_parameters=dict(rope_type="default", rope_theta=3000.0, partial_rotary_factor=0.5))),
    "phi3, longrope": ("Phi3", dict(
        max_position_embeddings=128, original_max_position_embeddings=64, rope_parameters=dict(
            rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=64, partial_rotary_factor=1.0,
            long_factor=[1 + 0.2 * i for i in range(8)], short_factor=[1 + 0.05 * i for i in range(8)]))),
    "gemma": ("Gemma", dict(head_dim=24)),
    "gemma3": ("Gemma3Text", dict(
        head_dim=16, query_pre_attn_scalar=16, sliding_window=4, final_logit_softcapping=9.0,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"], rope_parameters=dict(
            full_attention=dict(rope_type="linear", rope_theta=40000.0, factor=2.0),
            sliding_attention=dict(rope_type="default", rope_theta=800.0)))),
    "gpt2": ("GPT2", {}),
}
# Where ggml reads gelu from a table of float16, and how far results may be apart for it: 4.9e-4 was measured.
TABLED, TABLE = ("gemma", "gemma3", "gpt2"), 1e-3
# And with weights of 8 or 16 bits, for which libllama rounds activations to the type of the weights, and accelc does not. On these
# random weights up to 0.15 was measured.
ROUNDED = 0.25


def families(scratch):
    tokens = torch.randint(1, SMALL["vocab_size"], (1, 12), generator=torch.Generator().manual_seed(3))
    for index, (label, (kind, more)) in enumerate(MADE.items()):
        source = scratch / f"source{index}"
        model = made(kind, more, source)
        if "longrope" in label:
            # libllama's context is longer than the original one, since it is padded: it takes the long factors for all tokens.
            factors = model.config.rope_parameters
            padded = getattr(transformers, f"{kind}Config")(
                **model.config.to_dict() | dict(rope_parameters=dict(factors, short_factor=factors["long_factor"])))
            model.model.rotary_emb = type(model.model.rotary_emb)(padded)
        with torch.no_grad():
            expected = model(input_ids=tokens, use_cache=False).logits.numpy()[0]
        for scheme, limit in (("float32", TABLE if label in TABLED else 1e-5), ("float16", ROUNDED), ("bfloat16", ROUNDED), ("q8_0", ROUNDED)):
            folder = scratch / f"{index}-{scheme}"
            code, error = export(source, folder, "--compress", scheme)
            if code != 0:
                check(f"{label}, {scheme}: {error}", False)
                continue
            try:
                found = Loaded(folder / "model.gguf").run(tokens[0].tolist())
            except RuntimeError as problem:
                check(f"{label}, {scheme}: {problem}", False)
                continue
            distance = apart(found, expected)
            check(f"{label}, {scheme}: logits of libllama and of transformers {distance:.1e} apart", distance < limit)


def interleaved(matrix, heads):
    return matrix.reshape(heads, 2, -1, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def kinds(scratch):
    """Every type: bytes of ggml's quantizer, with and without an importance matrix, numbers of gguf-py."""
    ggml = ctypes.CDLL(str(BINARIES / "libggml-base.so"))
    ggml.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    source = scratch / "wide"
    made("Llama", dict(hidden_size=256, intermediate_size=512, head_dim=64, vocab_size=331), source, seed=11)
    tensors = {name: tensor.float().numpy() for name, tensor in safetensors.torch.load_file(source / "model.safetensors").items()}
    heads = {"attn_q": SMALL["num_attention_heads"], "attn_k": SMALL["num_key_value_heads"]}
    own = {"token_embd": "model.embed_tokens", "output": "lm_head", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
           "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
           "ffn_down": "mlp.down_proj"}
    samples, measured = scratch / "samples.safetensors", scratch / "imatrix.gguf"
    random = numpy.random.default_rng(5)
    safetensors.numpy.save_file({"input_ids": random.integers(1, 331, (8, 24)), "position": numpy.zeros(1, numpy.int64)}, samples)
    code, error = accelc("importance", source, "--calibrate", samples, "-o", measured)
    check(f"an importance matrix {error}", code == 0)
    found = {tensor.name: tensor.data for tensor in gguf.GGUFReader(measured).tensors}
    importance = {name.removesuffix(".in_sum2"): (sums[0] / found[name.replace("in_sum2", "counts")][0, 0]).astype(numpy.float32)
                  for name, sums in found.items() if name.endswith(".in_sum2")}
    for name, weighted in [(name, "") for name in TYPES] + [(name, "weighted") for name in TYPES if name not in PLAIN]:
        folder, plain = scratch / (name + weighted), scratch / f"{name}{weighted}.safetensors"
        words = (f"{name.lower()}:method=weighted", "--importance", measured) if weighted else (name.lower(),)
        code, error = export(source, folder, "--compress", *words)
        if code == 0:
            code, error = accelc("decompress", folder, "-o", plain)
        if code != 0:
            check(f"{name}: {error}", False)
            continue
        decoded = safetensors.numpy.load_file(plain)
        same = exact = count = 0
        for tensor in gguf.GGUFReader(folder / "model.gguf").tensors:
            if len(tensor.shape) < 2:
                continue
            *layer, module, _ = tensor.name.split(".")
            key = (f"model.layers.{layer[1]}.{own[module]}" if layer else own[module]) + ".weight"
            values = tensors[key] if module not in heads else interleaved(tensors[key], heads[module])
            values = numpy.ascontiguousarray(values)
            blocks = numpy.zeros(tensor.data.shape, numpy.uint8)
            # The embeddings are multiplied with nothing.
            own_importance = importance.get(tensor.name) if weighted else None
            if own_importance is None and name in WEIGHTED:
                own_importance = numpy.ones(values.shape[1], numpy.float32)
            ggml.ggml_quantize_chunk(int(tensor.tensor_type), values.ctypes.data, blocks.ctypes.data, 0, *values.shape,
                                     None if own_importance is None else own_importance.ctypes.data)
            numbers = gguf.dequantize(tensor.data, tensor.tensor_type)
            back = decoded[key] if module not in heads else interleaved(decoded[key], heads[module])
            same += bool((blocks == tensor.data).all()) and tensor.tensor_type.name == name
            exact += bool((numbers.view(numpy.uint32) == numpy.ascontiguousarray(back).view(numpy.uint32)).all())
            count += 1
        check(f"{name} {weighted}: the bytes of ggml in {same} of {count} matrices, the numbers of gguf-py in {exact}", same == exact == count > 20)
        if weighted:
            continue
        tokens = list(range(5, 17))
        packaged = scratch / f"{name}.accelpkg"
        accelc("convert", source, "--compress", name.lower(), "--shape", "batch=1,tokens=12,cache=12", "--no-cache", "-o", packaged)
        inputs, outputs = scratch / "in.safetensors", scratch / "out.safetensors"
        safetensors.numpy.save_file({"input_ids": numpy.array([tokens]), "position": numpy.array([0])}, inputs)
        code, error = accelc("run", packaged, "--inputs", inputs, "--outputs", outputs)
        distance = apart(Loaded(folder / "model.gguf").run(tokens), safetensors.numpy.load_file(outputs)["logits"][0])
        check(f"{name}: logits of libllama and of accelc's runtime {distance:.1e} apart {error}", distance < ROUNDED)
        again = scratch / f"{name}-again"
        code, error = export(packaged, again)
        pairs = [{tensor.name: tensor.data.tobytes() for tensor in gguf.GGUFReader(path / "model.gguf").tensors} for path in (folder, again)]
        check(f"{name}: an export of the package has the same tensors {error}", code == 0 and pairs[0] == pairs[1])


def micro(scratch):
    """MXFP4: the numbers of gguf-py, and the logits of libllama."""
    source, folder, plain, packaged = (scratch / name for name in ("wide", "micro", "micro.safetensors", "micro.accelpkg"))
    code, error = export(source, folder, "--compress", "mxfp4")
    if code == 0:
        code, error = accelc("decompress", folder, "-o", plain)
    if code != 0:
        return check(f"MXFP4: {error}", False)
    decoded = list(safetensors.numpy.load_file(plain).values())
    exact = count = 0
    for tensor in gguf.GGUFReader(folder / "model.gguf").tensors:
        if tensor.tensor_type == gguf.GGMLQuantizationType.MXFP4:
            numbers = numpy.sort(gguf.dequantize(tensor.data, tensor.tensor_type), axis=None)
            exact += any(numbers.size == own.size and (numbers == numpy.sort(own, axis=None)).all() for own in decoded)
            count += 1
    check(f"MXFP4: the numbers of gguf-py in {exact} of {count} matrices", exact == count > 20)
    tokens = list(range(5, 17))
    accelc("convert", source, "--compress", "mxfp4", "--shape", "batch=1,tokens=12,cache=12", "--no-cache", "-o", packaged)
    inputs, outputs = scratch / "in.safetensors", scratch / "out.safetensors"
    safetensors.numpy.save_file({"input_ids": numpy.array([tokens]), "position": numpy.array([0])}, inputs)
    accelc("run", packaged, "--inputs", inputs, "--outputs", outputs)
    distance = apart(Loaded(folder / "model.gguf").run(tokens), safetensors.numpy.load_file(outputs)["logits"][0])
    check(f"MXFP4: logits of libllama and of accelc's runtime {distance:.1e} apart", distance < ROUNDED)


def bert(scratch):
    torch.manual_seed(5)
    for activation in ("gelu", "gelu_new"):
        source, folder = scratch / f"bert-{activation}", scratch / f"bert-{activation}-gguf"
        model = transformers.BertModel(transformers.BertConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, vocab_size=47, max_position_embeddings=64,
            hidden_act=activation)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.2 * torch.randn_like(parameter))
        model.save_pretrained(source)
        code, error = export(source, folder, "--compress", "float32")
        if code != 0:
            check(f"bert: {error}", False)
            continue
        tokens = list(range(3, 17))
        with torch.no_grad():
            expected = model(input_ids=torch.tensor([tokens])).last_hidden_state.numpy()[0]
        distance = apart(Loaded(folder / "model.gguf").run(tokens, embeddings=True), expected)
        if activation == "gelu":
            sentence(source, folder, model, tokens, scratch)
        check(f"bert, {activation}: hidden states of libllama and of transformers {distance:.1e} apart", distance < TABLE)


def sentence(source, folder, model, tokens, scratch):
    """The pooling of a sentence model."""
    modules = [dict(idx=0, name="0", path="", type="sentence_transformers.models.Transformer"),
               dict(idx=1, name="1", path="1_Pooling", type="sentence_transformers.models.Pooling")]
    (source / "modules.json").write_text(json.dumps(modules))
    (source / "1_Pooling").mkdir()
    for name, number in (("mean_tokens", 1), ("cls_token", 2), ("lasttoken", 3)):
        config = {f"pooling_mode_{other}": other == name for other in ("mean_tokens", "cls_token", "lasttoken", "max_tokens")}
        (source / "1_Pooling/config.json").write_text(json.dumps(dict(word_embedding_dimension=64, **config)))
        pooled = scratch / f"pooled-{name}"
        code, error = export(source, pooled, "--compress", "float32")
        found = code == 0 and gguf.GGUFReader(pooled / "model.gguf").get_field("bert.pooling_type").contents()
        check(f"bert, {name}: pooling type {found} {error if code else ''}", found == number)


with tempfile.TemporaryDirectory() as folder:
    families(pathlib.Path(folder))
    kinds(pathlib.Path(folder))
    micro(pathlib.Path(folder))
    bert(pathlib.Path(folder))
finish("gguf")
