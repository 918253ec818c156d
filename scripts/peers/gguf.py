"""GGUF files of accelc against llama.cpp itself.

usage: gguf.py ACCELC [FOLDER]      (wants gguf, numpy, safetensors, torch, transformers, and llama.cpp, which scripts/bench/llama.sh
builds; exits 3 with the command that installs them when one is missing)
Every type: the blocks of an export have the bytes of ggml's quantizer, and decode to the numbers of gguf-py, bit by bit. Decoders of
every family: the logits of libllama are those of transformers, and in types of fewer bits within what its rounded activations cost.
BERT: the hidden states, and the kind of pooling. Mixes: the types and the bytes of llama_model_quantize. MXFP4: the numbers of gguf-py. Tokenizers: the tokens of a text. Exits 1 on a difference.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

# The folder of this script has its own name first on the path.
HERE = pathlib.Path(__file__).resolve().parent
sys.path = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
ROOT = HERE.parent.parent
sys.path.append(str(HERE.parent))
LLAMA = ROOT / ".build/llama"
try:
    import gguf
    import numpy
    import safetensors.numpy
    import safetensors.torch
    import tokenizers
    import torch
    import transformers
except ImportError as error:
    print(f"gguf: skipped, since {error.name} is missing: pip install gguf safetensors torch transformers", file=sys.stderr)
    sys.exit(3)
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
if subprocess.run(["bash", ROOT / "scripts/bench/llama.sh"], stdout=subprocess.DEVNULL).returncode != 0:
    print("gguf: skipped, since scripts/bench/llama.sh could not build llama.cpp", file=sys.stderr)
    sys.exit(3)
BINARIES = next(LLAMA.glob("0.*/bin"))
os.environ["LLAMA_CPP_LIB_PATH"] = str(BINARIES)
# Of the Python package only the declarations are read, which want none of its other requirements.
package = types.ModuleType("llama_cpp")
package.__path__ = [str(next(LLAMA.glob("llama_cpp_python-*/llama_cpp")))]
sys.modules["llama_cpp"] = package
import llama_cpp.llama_cpp as llama  # noqa: E402
import llama_mixes  # noqa: E402

ACCELC = sys.argv[1]
FIXTURES = ROOT / "Tests/Fixtures"
TYPES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "TQ1_0", "TQ2_0")
# The types that ggml quantizes without regard to an importance matrix.
PLAIN = ("Q8_0", "TQ1_0", "TQ2_0")
SMALL = dict(
    hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96, vocab_size=47,
    head_dim=16, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
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
# How far logits may be apart in float32: ggml reads gelu from a table of float16.
TABLED = ("gemma", "gemma3", "gpt2")
# And with weights of 8 or 16 bits, for which libllama rounds activations to the type of the weights, and accelc does not. On these
# random weights up to 0.15 was measured.
ROUNDED = 0.25
failures = []


def check(what, good):
    print(f"  {'ok  ' if good else 'FAIL'} {what}", flush=True)
    if not good:
        failures.append(what)


def accelc(*words):
    done = subprocess.run([ACCELC, *map(str, words), "--quiet"], capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def export(source, folder, *words):
    return accelc("export", source, "--format", "gguf", "-o", folder, "--no-cache", *words)


def apart(left, right):
    return float(numpy.abs(left.astype(numpy.float64) - right).max() / numpy.abs(right).max())


# ---- libllama ----------------------------------------------------------------------------------------------------

quiet = llama.llama_log_callback(lambda *_: None)
llama.llama_log_set(quiet, ctypes.c_void_p(0))
llama.llama_backend_init()


class Loaded:
    """A model in libllama."""

    def __init__(self, path):
        self.model = llama.llama_model_load_from_file(str(path).encode(), llama.llama_model_default_params())
        if not self.model:
            raise RuntimeError("llama.cpp does not load it")
        self.vocabulary = llama.llama_model_get_vocab(self.model)

    def run(self, tokens, embeddings=False):
        """The logits of all tokens, or their hidden states."""
        settings = llama.llama_context_default_params()
        settings.n_ctx, settings.n_threads, settings.n_threads_batch = 64, 2, 2
        settings.n_batch = settings.n_ubatch = 64
        settings.type_k = settings.type_v = 0
        settings.flash_attn_type = 0
        if embeddings:
            settings.embeddings, settings.pooling_type = True, 0
        context = llama.llama_init_from_model(self.model, settings)
        batch = llama.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index], batch.n_seq_id[index] = int(token), index, 1
            batch.seq_id[index][0], batch.logits[index] = 0, 1
        code = (llama.llama_encode if embeddings else llama.llama_decode)(context, batch)
        if code != 0:
            raise RuntimeError(f"llama.cpp fails with {code}")
        width = llama.llama_model_n_embd(self.model) if embeddings else llama.llama_vocab_n_tokens(self.vocabulary)
        read = llama.llama_get_embeddings_ith if embeddings else llama.llama_get_logits_ith
        rows = [numpy.ctypeslib.as_array(read(context, index), (width,)).copy() for index in range(len(tokens))]
        llama.llama_batch_free(batch)
        llama.llama_free(context)
        return numpy.stack(rows)

    def tokenize(self, text):
        words, numbers = text.encode(), (llama.llama_token * 256)()
        count = llama.llama_tokenize(self.vocabulary, words, len(words), numbers, 256, False, True)
        return list(numbers[:count])


# ---- checks ------------------------------------------------------------------------------------------------------

def made(kind, more, folder, seed=7):
    torch.manual_seed(seed)
    stem = kind.removesuffix("Text")
    config = dict(n_embd=64, n_head=4, n_layer=3, n_positions=64, n_inner=128, vocab_size=47) if kind == "GPT2" else SMALL
    name = "GPT2LMHeadModel" if kind == "GPT2" else f"{stem}ForCausalLM"
    model = getattr(transformers, name)(getattr(transformers, f"{kind}Config")(**config | more)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model


def families(scratch):
    tokens = torch.randint(1, SMALL["vocab_size"], (1, 12), generator=torch.Generator().manual_seed(3))
    for index, (label, (kind, more)) in enumerate(MADE.items()):
        source = scratch / f"source{index}"
        model = made(kind, more, source)
        with torch.no_grad():
            expected = model(input_ids=tokens, use_cache=False).logits.numpy()[0]
        for scheme, limit in (("float32", 1e-3 if label in TABLED else 1e-5), ("float16", ROUNDED), ("bfloat16", ROUNDED), ("q8_0", ROUNDED)):
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


WIDE = dict(hidden_size=256, intermediate_size=256, num_hidden_layers=9, vocab_size=67)
MIXED = {
    "llama": ("Llama", WIDE | dict(head_dim=64)),
    "llama, shared keys": ("Llama", WIDE | dict(head_dim=64, num_key_value_heads=1)),
    "llama, narrow": ("Llama", {}),
    "qwen3, tied": ("Qwen3", WIDE | dict(head_dim=64, tie_word_embeddings=True)),
    "phi3": ("Phi3", WIDE | dict(head_dim=None)),
    "gemma": ("Gemma", WIDE | dict(head_dim=64)),
    "gpt2": ("GPT2", dict(n_embd=256, n_inner=512, n_layer=4)),
}


def mixes(scratch):
    """The types that llama.cpp's quantizer chooses for a model in float32, and its bytes."""
    for index, (label, (kind, more)) in enumerate(MIXED.items()):
        source, plain, other = scratch / f"mixed{index}", scratch / f"mixed{index}-float32", scratch / "quantized.gguf"
        made(kind, more, source, seed=19)
        code, error = export(source, plain, "--compress", "float32")
        for mix, number in llama_mixes.MIXES.items():
            folder = scratch / f"mixed{index}-{mix}"
            code, error = export(source, folder, "--compress", mix)
            if code != 0:
                check(f"{label}, {mix}: {error}", False)
                continue
            own = gguf.GGUFReader(folder / "model.gguf")
            if mix in llama_mixes.WEIGHTED:
                kinds = llama_mixes.planned(llama, plain / "model.gguf", mix)
                llama.llama_log_set(quiet, ctypes.c_void_p(0))
                same = all(kinds[tensor.name] == tensor.tensor_type.name for tensor in own.tensors)
                check(f"{label}, {mix}: the types of llama.cpp", same)
                continue
            theirs = llama_mixes.quantized(llama, plain / "model.gguf", other, mix)
            left, right = ({tensor.name: (tensor.tensor_type.name, tensor.data.tobytes()) for tensor in reader.tensors}
                           for reader in (own, theirs))
            types = sum(left[name][0] == right[name][0] for name in right)
            blocks = sum(left[name] == right[name] for name in right)
            found = own.get_field("general.file_type").contents()
            good = left.keys() == right.keys() and types == blocks == len(right)
            # The mixes of a narrow model may have the same types.
            good = good and (found == number or "narrow" in label)
            check(f"{label}, {mix}: of {len(right)} tensors the types of llama.cpp in {types}, its bytes in {blocks}, file type {found}", good)


def bert(scratch):
    torch.manual_seed(5)
    for activation, limit in (("gelu", 1e-4), ("gelu_new", 1e-4)):
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
        check(f"bert, {activation}: hidden states of libllama and of transformers {distance:.1e} apart", distance < limit)


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


TEXT = "Hello world, it's 2024: lower newest!  Two spaces, and\nlines. ünïcödé 東京"


def words(scratch):
    """Trains small tokenizers, and compares the tokens of a text."""
    corpus = [TEXT, "the quick brown fox jumps over the lazy dog", "low lower lowest new newer newest wide wider widest"] * 20
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
    pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")

    def split(numbers):
        return pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern % numbers), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    cases = {
        "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False), "qwen2": split(r"\p{N}"), "llama-bpe": split(r"\p{N}{1,3}"),
    }
    for label, pre in cases.items():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre, decoders.ByteLevel()
        tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
            vocab_size=400, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        compare_words(label, tokenizer, scratch, "Llama")
    pieces = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    pieces.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    pieces.train_from_iterator([text.replace(" ", "▁") for text in corpus], trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]))
    compare_words("pieces", pieces, scratch, "Llama")
    bert = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    bert.train_from_iterator(corpus, trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    compare_words("word pieces", bert, scratch, "Bert")
    cased = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    cased.normalizer, cased.pre_tokenizer = normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer()
    cased.train_from_iterator(corpus, trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    compare_words("word pieces with capitals", cased, scratch, "Bert")


def compare_words(label, tokenizer, scratch, kind):
    source, folder = scratch / f"words-{label}", scratch / f"words-{label}-gguf"
    count = tokenizer.get_vocab_size()
    if kind == "Bert":
        transformers.BertModel(transformers.BertConfig(
            hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=count)).save_pretrained(source)
    else:
        made(kind, dict(vocab_size=count, num_hidden_layers=1), source)
    tokenizer.save(str(source / "tokenizer.json"))
    code, error = export(source, folder, "--compress", "float16")
    if code != 0 or "no tokenizer" in error:
        return check(f"tokens, {label}: {error}", False)
    try:
        found = Loaded(folder / "model.gguf").tokenize(TEXT)
    except RuntimeError as problem:
        return check(f"tokens, {label}: {problem}", False)
    expected = tokenizer.encode(TEXT, add_special_tokens=False).ids
    check(f"tokens, {label}: {len(expected)} tokens of llama.cpp and of tokenizers" + ("" if found == expected else f" {found} {expected}"),
          found == expected)


with tempfile.TemporaryDirectory() as folder:
    families(pathlib.Path(folder))
    kinds(pathlib.Path(folder))
    micro(pathlib.Path(folder))
    mixes(pathlib.Path(folder))
    bert(pathlib.Path(folder))
    words(pathlib.Path(folder))
if failures:
    sys.exit(f"gguf: {len(failures)} failed")
