"""Tiny GGUF files, one of each architecture, and what differs from them key by key and tensor by tensor.

A case says what accelc has to do with the file: `read` it, with the numbers of libllama; take a key as `neutral`, which changes no number of
libllama; or `rejected`. Keys of another kind than the plain ones stand in `context`, so that neutral keys are compared with the file that has
the context only.
"""

import dataclasses

import gguf
import numpy

WIDTH, HEADS, KEY_HEADS, INNER, WORDS, LENGTH, TOKENS = 16, 2, 1, 24, 16, 64, 12
# gemma3 has heads that are wider than their share of the width, so that its scales differ.
HEAD = {"gemma3": 12}
LAYERS = {"gemma3": 3}
ROTARY = ("llama", "qwen2", "qwen3", "phi3", "gemma", "gemma3")
DECODERS = (*ROTARY, "gpt2")
ARCHITECTURES = (*DECODERS, "bert")
READ, NEUTRAL, REJECTED = "read", "neutral", "rejected"
# The arithmetic of ggml's gelu is a table of float16.
TABLED = ("gemma", "gemma3", "gpt2", "bert")


@dataclasses.dataclass
class Case:
    architecture: str
    title: str
    outcome: str
    # The keys that are changed, without the architecture's name; None removes one.
    keys: dict = dataclasses.field(default_factory=dict)
    context: dict = dataclasses.field(default_factory=dict)
    # The tensors that are added or replaced; None removes one.
    tensors: dict = dataclasses.field(default_factory=dict)
    # The layers of the file repeat those of the base.
    layers: int | None = None
    tokens: int = TOKENS
    # libllama gives other numbers than for the base, which shows that the case can fail.
    changes: bool = False
    # A part of the fixture, so that tests without libllama have it.
    kept: bool = False

    @property
    def name(self):
        return f"{self.architecture}: {self.title}"


def u32(value): return ("u32", value)
def f32(value): return ("f32", value)
def flag(value): return ("bool", value)
def text(value): return ("str", value)
def u32s(*values): return ("u32s", list(values))
def flags(*values): return ("bools", list(values))
def texts(*values): return ("strs", list(values))


def head(architecture): return HEAD.get(architecture, WIDTH // HEADS)
def layers(architecture): return LAYERS.get(architecture, 2)


def base_keys(architecture):
    keys = {
        "context_length": u32(LENGTH), "embedding_length": u32(WIDTH), "block_count": u32(layers(architecture)),
        "feed_forward_length": u32(INNER), "attention.head_count": u32(HEADS), "vocab_size": u32(WORDS)}
    if architecture in ROTARY:
        width = head(architecture)
        keys |= {"attention.head_count_kv": u32(KEY_HEADS), "attention.layer_norm_rms_epsilon": f32(1e-5),
                 "attention.key_length": u32(width), "attention.value_length": u32(width), "rope.freq_base": f32(100)}
    else:
        keys |= {"attention.layer_norm_epsilon": f32(1e-5)}
    if architecture == "gemma3":
        keys |= {"attention.sliding_window": u32(4), "attention.sliding_window_pattern": flags(True, False, True)}
    if architecture == "bert":
        keys |= {"attention.causal": flag(False), "tokenizer.ggml.token_type_count": u32(2)}
    return keys


def base_tensors(architecture):
    random = numpy.random.default_rng(41)
    width, inner, own = WIDTH, INNER, head(architecture)

    def matrix(rows, columns): return (0.35 * random.standard_normal((rows, columns))).astype(numpy.float32)
    def gain(size): return (1 + 0.2 * random.standard_normal(size)).astype(numpy.float32)
    def bias(size): return (0.2 * random.standard_normal(size)).astype(numpy.float32)

    made = {"token_embd.weight": matrix(WORDS, width) * 2}
    if architecture in ("gpt2", "bert"):
        made["position_embd.weight"] = matrix(LENGTH, width)
    if architecture == "bert":
        made |= {"token_types.weight": matrix(2, width), "token_embd_norm.weight": gain(width), "token_embd_norm.bias": bias(width)}
    else:
        made["output_norm.weight"] = gain(width)
    if architecture == "gpt2":
        made["output_norm.bias"] = bias(width)
    if architecture not in ("bert", "gemma"):
        made["output.weight"] = matrix(WORDS, width)
    for layer in range(layers(architecture)):
        def add(name, value): made[f"blk.{layer}.{name}"] = value
        if architecture == "bert":
            sizes = {"attn_q": (width, width), "attn_k": (width, width), "attn_v": (width, width), "attn_output": (width, width),
                     "ffn_up": (inner, width), "ffn_down": (width, inner)}
            norms = ("attn_output_norm", "layer_output_norm")
        elif architecture == "gpt2":
            sizes = {"attn_qkv": (3 * width, width), "attn_output": (width, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
            norms = ("attn_norm", "ffn_norm")
        elif architecture == "phi3":
            sizes = {"attn_qkv": ((HEADS + 2 * KEY_HEADS) * own, width), "attn_output": (width, width), "ffn_up": (2 * inner, width),
                     "ffn_down": (width, inner)}
            norms = ("attn_norm", "ffn_norm")
        else:
            sizes = {"attn_q": (HEADS * own, width), "attn_k": (KEY_HEADS * own, width), "attn_v": (KEY_HEADS * own, width),
                     "attn_output": (width, HEADS * own), "ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
            norms = ("attn_norm", "ffn_norm", *(("post_attention_norm", "post_ffw_norm") if architecture == "gemma3" else ()))
        for name, size in sizes.items():
            add(f"{name}.weight", matrix(*size))
            if architecture in ("gpt2", "bert") or architecture == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                add(f"{name}.bias", bias(size[0]))
        for name in norms:
            add(f"{name}.weight", gain(width))
            if architecture in ("gpt2", "bert"):
                add(f"{name}.bias", bias(width))
        if architecture in ("qwen3", "gemma3"):
            add("attn_q_norm.weight", 2 * gain(own))
            add("attn_k_norm.weight", 2 * gain(own))
    return made


def repeated(tensors, architecture, count):
    """The tensors of a deeper model: its layers are those of the base, again and again."""
    own = layers(architecture)
    outer = {name: tensor for name, tensor in tensors.items() if not name.startswith("blk.")}
    inner = {f"blk.{layer}.{name.split('.', 2)[2]}": tensor for layer in range(count) for name, tensor in tensors.items()
             if name.startswith(f"blk.{layer % own}.")}
    return outer | inner


def changed(base, changes):
    return {key: value for key, value in (base | changes).items() if value is not None}


GLOBAL = ("general.", "tokenizer.", "split.", "adapter.", "accelc.", "xielu.", "other.", "llama.", "qwen3.")


def write(case, path, plain=False):
    """Writes the file of a case, or the one that its neutral keys are compared with."""
    architecture = case.architecture
    keys = changed(changed(base_keys(architecture), case.context), {} if plain else case.keys)
    tensors = base_tensors(architecture)
    if case.layers is not None and not plain:
        tensors = repeated(tensors, architecture, case.layers)
    tensors = changed(tensors, {} if plain else case.tensors)
    file = gguf.GGUFWriter(path, architecture)
    file.add_tokenizer_model("none")
    add = {"u32": file.add_uint32, "f32": file.add_float32, "bool": file.add_bool, "str": file.add_string, "u32s": file.add_array,
           "bools": file.add_array, "strs": file.add_array}
    for key, (kind, value) in keys.items():
        whole = key if key.startswith(GLOBAL) else f"{architecture}.{key}"
        if kind == "u32s":
            file.add_key_value(whole, value, gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.UINT32)
        else:
            add[kind](whole, value)
    for name, tensor in tensors.items():
        file.add_tensor(name, numpy.ascontiguousarray(tensor))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def tokens(count=TOKENS):
    return [(5 * index + index * index) % (WORDS - 1) + 1 for index in range(count)]


def pairs(architecture, factor=1.0, step=0.5):
    return numpy.asarray([factor + step * index for index in range(head(architecture) // 2)], numpy.float32)


def cases():
    found = []
    for architecture in ARCHITECTURES:
        found += sizes(architecture) + constants(architecture) + windows(architecture) + others(architecture)
        if architecture in ROTARY:
            found += rotary(architecture) + yarn(architecture)
        found += extra_tensors(architecture)
    return found + own_tensors() + gemma3() + bert()


def maker(architecture):
    def case(title, outcome, keys=None, **more):
        return Case(architecture, title, outcome, keys or {}, **more)
    return case


def sizes(architecture):
    case, count, width = maker(architecture), layers(architecture), head(architecture)
    found = [
        case("context of 63", REJECTED if architecture in ("gpt2", "bert") else NEUTRAL, {"context_length": u32(63)}),
        case("width of 15", REJECTED, {"embedding_length": u32(15)}),
        case("one layer", REJECTED, {"block_count": u32(1)}),
        case("inner sizes alike", NEUTRAL, {"feed_forward_length": u32s(*[INNER] * count)}, kept=architecture == "llama"),
        case("inner sizes that differ", REJECTED, {"feed_forward_length": u32s(*[INNER] * (count - 1), INNER + 1)}, kept=True),
        case("inner sizes of too few layers", REJECTED, {"feed_forward_length": u32s(INNER)}),
        case("heads alike", NEUTRAL, {"attention.head_count": u32s(*[HEADS] * count)}),
        case("heads that differ", REJECTED, {"attention.head_count": u32s(*[HEADS] * (count - 1), 1)}, kept=True),
        case("key heads alike", NEUTRAL, {"attention.head_count_kv": u32s(*[HEADS if architecture in ("gpt2", "bert") else KEY_HEADS] * count)}),
        case("key heads that differ", REJECTED, {"attention.head_count_kv": u32s(*[KEY_HEADS] * (count - 1), 2 * KEY_HEADS)}, kept=True),
        case("values of another width", REJECTED, {"attention.value_length": u32(width - 2)}, kept=architecture in ("llama", "gpt2")),
        case("keys of another width", REJECTED, {"attention.key_length": u32(width - 2)}),
        case("keys and values of the usual width", NEUTRAL, {"attention.key_length": u32(width), "attention.value_length": u32(width)}),
        case("another vocabulary", REJECTED, {"vocab_size": u32(WORDS - 1)}),
    ]
    if architecture in ROTARY:
        found += [
            case("rms epsilon", READ, {"attention.layer_norm_rms_epsilon": f32(0.1)}, changes=True, kept=architecture == "llama"),
            case("epsilon of another norm", NEUTRAL, {"attention.layer_norm_epsilon": f32(0.1)}),
            case("other heads", READ if architecture not in ("qwen3", "gemma3") else REJECTED, {
                "attention.head_count": u32(2 * HEADS), "attention.head_count_kv": u32(2 * KEY_HEADS), "attention.key_length": u32(width // 2),
                "attention.value_length": u32(width // 2)}, changes=True, kept=architecture in ("llama", "gemma")),
            case("key heads of none", REJECTED, {"attention.head_count_kv": None}),
        ]
    else:
        found += [
            case("epsilon", READ, {"attention.layer_norm_epsilon": f32(0.1)}, changes=True),
            case("epsilon of another norm", NEUTRAL, {"attention.layer_norm_rms_epsilon": f32(0.1)}),
            case("other heads", READ, {"attention.head_count": u32(2 * HEADS)}, changes=True),
            case("fewer key heads", REJECTED, {"attention.head_count_kv": u32(1)}),
        ]
    return found


def constants(architecture):
    case, isEncoder = maker(architecture), architecture == "bert"
    found = [
        case("causal, as it is", NEUTRAL, {"attention.causal": flag(not isEncoder)}),
        case("not causal" if not isEncoder else "causal", REJECTED, {"attention.causal": flag(isEncoder)}, changes=not isEncoder, kept=True),
        case("an unknown key", REJECTED, {"zzz": u32(5)}, kept=True),
        case("no kind of file", NEUTRAL, {"general.type": text("model")}),
        case("an adapter", REJECTED, {"general.type": text("adapter")}, kept=architecture == "llama"),
        case("a key of adapters", REJECTED, {"adapter.lora.alpha": f32(2)}, kept=architecture == "llama"),
        case("a key of an activation", REJECTED, {"xielu.beta": f32(2)}),
        case("a key of another architecture", REJECTED, {("llama" if architecture == "qwen3" else "qwen3") + ".rope.freq_base": f32(7)}),
        case("a key of a tool", NEUTRAL, {"other.quantized_by": text("x")}, kept=architecture == "llama"),
        case("names, origin and sampling", NEUTRAL, {
            "general.name": text("x"), "general.file_type": u32(0), "general.quantization_version": u32(2), "general.sampling.temp": f32(0.5),
            "general.tags": texts("a", "b")}, kept=architecture == "llama"),
        case("keys of tokenizers", NEUTRAL, {
            "tokenizer.ggml.eos_token_id": u32(2), "tokenizer.ggml.eot_token_id": u32(3), "tokenizer.ggml.bos_token_id": u32(1), "tokenizer.ggml.add_bos_token": flag(True),
            "tokenizer.chat_template": text("{{ x }}")}, kept=architecture == "llama"),
        case("an order of rows", NEUTRAL, {"tensor_data_layout": text("Meta AI original pth")}),
    ]
    for key, other in (("expert_count", 2), ("expert_used_count", 1), ("expert_group_count", 1), ("expert_group_used_count", 1),
                       ("nextn_predict_layers", 1)):
        found += [case(f"{key} 0", NEUTRAL, {key: u32(0)}), case(f"{key} {other}", REJECTED, {key: u32(other)}, kept=architecture == "llama")]
    if not isEncoder:
        found += [case("no pooling", NEUTRAL, {"pooling_type": u32(0)}), case("pooling", REJECTED, {"pooling_type": u32(3)}, kept=architecture == "qwen3")]
    return found


# Keys that llama.cpp reads for other architectures.
OTHERS = {
    "attention.scale": f32(0.3), "attn_logit_softcapping": f32(5), "logit_scale": f32(0.5), "residual_scale": f32(0.5),
    "embedding_scale": f32(3), "attention.clamp_kqv": f32(0.1), "attention.max_alibi_bias": f32(8), "attention.key_length_swa": u32(4),
    "attention.value_length_swa": u32(4), "rope.dimension_count_swa": u32(4), "rope.dimension_sections": u32s(1, 1, 2, 0),
    "rope.scaling.alpha": f32(2), "embedding_length_out": u32(WIDTH), "use_parallel_residual": flag(True), "hidden_activation": text("relu"),
    "attention.group_norm_epsilon": f32(0.1), "leading_dense_block_count": u32(1), "expert_weights_scale": f32(2), "swin_norm": flag(True),
    "router_logit_softcapping": f32(5), "expert_feed_forward_length": u32(8), "attention.temperature_scale": f32(0.1),
    "attention.output_scale": f32(2), "features_length": u32(4), "rescale_every_n_layers": u32(1), "interleave_moe_layer_step": u32(1),
    "classifier.pooling_type": u32(1),
}


def others(architecture):
    keys = dict(OTHERS)
    if architecture != "gemma3":
        keys |= {"final_logit_softcapping": f32(5), "rope.freq_base_swa": f32(1000)}
    if architecture not in ROTARY:
        keys |= {"rope.freq_base": f32(50), "rope.scaling.factor": f32(2), "rope.dimension_count": u32(4), "rope.scaling.finetuned": flag(True)}
    if architecture != "bert":
        keys["classifier.output_labels"] = texts("a", "b")
    case = maker(architecture)
    return [case(key, REJECTED, {key: value}, kept=architecture == "llama" and key in ("attention.scale", "logit_scale", "residual_scale"))
            for key, value in keys.items()]


def rotary(architecture):
    case, width = maker(architecture), head(architecture)
    partial = READ if architecture == "phi3" else REJECTED
    return [
        case("rotated width", NEUTRAL, {"rope.dimension_count": u32(width)}),
        case("a part rotated", partial, {"rope.dimension_count": u32(4)}, changes=architecture in ("phi3", "gemma", "gemma3"), kept=True),
        case("base", READ, {"rope.freq_base": f32(1000)}, changes=True),
        case("usual base", READ, {"rope.freq_base": None}, changes=True, kept=architecture == "llama"),
        case("type none", NEUTRAL, {"rope.scaling.type": text("none")}),
        case("type linear", NEUTRAL, {"rope.scaling.type": text("linear")}),
        case("type longrope", NEUTRAL, {"rope.scaling.type": text("longrope")}),
        case("type unknown", REJECTED, {"rope.scaling.type": text("dynamic")}, kept=architecture == "llama"),
        case("factor without a type", READ, {"rope.scaling.factor": f32(2.5)}, changes=True, kept=True),
        case("factor below 1", READ, {"rope.scaling.factor": f32(0.5)}, changes=True),
        case("factor 0", NEUTRAL, {"rope.scaling.factor": f32(0)}, kept=architecture == "llama"),
        case("factor 1", NEUTRAL, {"rope.scaling.factor": f32(1)}),
        case("linear factor", READ, {"rope.scaling.type": text("linear"), "rope.scaling.factor": f32(2.5)}, changes=True),
        case("factor of type none", NEUTRAL, {"rope.scaling.type": text("none"), "rope.scaling.factor": f32(2.5)}, kept=architecture == "llama"),
        case("factor of type longrope", READ, {"rope.scaling.type": text("longrope"), "rope.scaling.factor": f32(2.5)}, changes=True),
        case("older name of the factor", READ, {"rope.scale_linear": f32(2.5)}, changes=True, kept=True),
        case("both names", READ, {"rope.scale_linear": f32(2.5), "rope.scaling.factor": f32(2.5)}, changes=True),
        case("both names that differ", REJECTED, {"rope.scale_linear": f32(2.5), "rope.scaling.factor": f32(2)}, kept=architecture == "llama"),
        case("attention factor", READ, {"rope.scaling.attn_factor": f32(1.4)}, changes=True, kept=True),
        case("attention factor 1", NEUTRAL, {"rope.scaling.attn_factor": f32(1)}),
        case("attention factor and linear", READ, {"rope.scaling.attn_factor": f32(0.8), "rope.scaling.factor": f32(2)}, changes=True, kept=True),
        case("tuned", NEUTRAL, {"rope.scaling.finetuned": flag(True)}),
        case("original context", NEUTRAL, {"rope.scaling.original_context_length": u32(16)}),
    ]


def yarn(architecture):
    case = maker(architecture)
    context = {"rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(4), "rope.scaling.original_context_length": u32(16)}
    found = [
        case("yarn", READ, context, changes=True, kept=True),
        case("yarn of the whole context", READ, {"rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(4)}, changes=True),
        case("yarn of factor 1", NEUTRAL, {"rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(1)}),
        case("yarn that shrinks", READ, context | {"rope.scaling.factor": f32(0.5)}, changes=True),
        case("yarn and attention factor", READ, context | {"rope.scaling.attn_factor": f32(1.3)}, changes=True, kept=architecture in ("llama", "gemma3")),
    ]
    for key, same, other in (("ext_factor", -1.0, 0.5), ("ext_factor", 1.0, 2.0), ("attn_factor", 1.0, 1.3), ("beta_fast", 32.0, 16.0),
                             ("beta_slow", 1.0, 2.0), ("log_multiplier", 0.0, 1.0)):
        found += [
            case(f"yarn_{key} {same}", NEUTRAL, {f"rope.scaling.yarn_{key}": f32(same)}, context=context),
            case(f"yarn_{key} {other}", REJECTED, {f"rope.scaling.yarn_{key}": f32(other)}, context=context, kept=architecture == "llama")]
    return found


def windows(architecture):
    case, count = maker(architecture), layers(architecture)
    pattern, every = {"attention.sliding_window_pattern": flags(*[True] * count)}, {"attention.sliding_window_pattern": u32(2)}
    if architecture == "gemma3":
        return []
    if architecture not in ("llama", "qwen2", "qwen3", "phi3"):
        return [case("window", REJECTED, {"attention.sliding_window": u32(4)}, kept=architecture == "gemma"), case("window's layers", REJECTED, pattern)]
    isQwen = architecture.startswith("qwen")
    # llama.cpp has no window here, and the model has one: they agree within it.
    return [
        case("window", READ, {"attention.sliding_window": u32(6)}, tokens=6),
        case("no window", NEUTRAL, {"attention.sliding_window": u32(0)}),
        case("window's layers", READ if isQwen else REJECTED, pattern | {"attention.sliding_window": u32(6)}, tokens=6),
        case("window's layers by a number", REJECTED, every | {"attention.sliding_window": u32(6)}, tokens=6),
    ]


def extra_tensors(architecture):
    case, size = maker(architecture), numpy.ones(1, numpy.float32)
    found = [
        case("an unknown tensor", REJECTED, tensors={"blk.0.zzz.weight": numpy.ones(WIDTH, numpy.float32)}, kept=True),
        case("an unknown tensor outside of layers", REJECTED, tensors={"zzz.weight": numpy.ones(WIDTH, numpy.float32)}),
        case("a tensor of a further layer", REJECTED, tensors={f"blk.{layers(architecture)}.ffn_up.weight": numpy.ones((INNER, WIDTH), numpy.float32)}),
        case("a scale of a matrix", REJECTED, tensors={"blk.0.ffn_down.scale": 3 * size}, kept=architecture == "llama"),
        case("a bias of the head", REJECTED, tensors={"output.bias": numpy.ones(WORDS, numpy.float32)}, kept=architecture == "qwen2"),
    ]
    if architecture != "llama":
        found.append(case("factors of frequencies", REJECTED, tensors={"rope_freqs.weight": pairs(architecture)}, kept=True))
    if architecture not in ("llama", "phi3"):
        found.append(case("factors of long contexts", REJECTED, tensors={
            "rope_factors_long.weight": pairs(architecture), "rope_factors_short.weight": pairs(architecture)}))
    if architecture not in ("bert", "gemma"):
        found.append(case("no head", READ, tensors={"output.weight": None}, changes=True))
    return found


def own_tensors():
    """Tensors that some architectures have."""
    llama, phi, found = maker("llama"), maker("phi3"), []
    factors = {"rope_freqs.weight": pairs("llama")}
    for title, keys in (
            ("plain", {}), ("linear", {"rope.scaling.factor": f32(2)}), ("attention factor", {"rope.scaling.attn_factor": f32(1.4)}),
            ("type none", {"rope.scaling.type": text("none"), "rope.scaling.factor": f32(2)}),
            ("yarn", {"rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(4), "rope.scaling.original_context_length": u32(16)})):
        found.append(llama(f"factors of frequencies, {title}", READ, keys, tensors=factors, changes=True, kept=title in ("linear", "yarn")))
    found.append(llama("factors of frequencies, type longrope", REJECTED, {"rope.scaling.type": text("longrope")}, tensors=factors))
    # libllama's context has 256 positions, and accelc's cache as many as there are tokens: both lie on one side of the original length.
    for architecture, case in (("llama", llama), ("phi3", phi)):
        kind = {"rope.scaling.type": text("longrope")} if architecture == "llama" else {}
        both = {"rope_factors_long.weight": pairs(architecture, 1.5), "rope_factors_short.weight": pairs(architecture, 1, 0.1)}
        long = kind | {"rope.scaling.original_context_length": u32(8)}
        short = kind | {"rope.scaling.original_context_length": u32(1024), "context_length": u32(4096)}
        for title, keys, tensors in (
                ("long factors", long, both), ("short factors", short, both),
                ("long factors and attention", long | {"rope.scaling.attn_factor": f32(1.2)}, both),
                ("long factors and linear", long | {"rope.scaling.factor": f32(2)}, both),
                ("long factors only", long, {"rope_factors_long.weight": both["rope_factors_long.weight"]}),
                ("short factors only", short, {"rope_factors_short.weight": both["rope_factors_short.weight"]})):
            found.append(case(title, READ, keys, tensors=tensors, changes=True, kept=title == "long factors" and architecture == "phi3"))
    # Factors are one for each two elements that are rotated.
    found.append(phi("long factors of a part", READ, {"rope.dimension_count": u32(4), "rope.scaling.original_context_length": u32(8)}, tensors={
        "rope_factors_long.weight": pairs("phi3", 1.5)[:2], "rope_factors_short.weight": pairs("phi3")[:2]}, changes=True))
    found.append(llama("factors of long contexts without the type", REJECTED, tensors={
        "rope_factors_long.weight": pairs("llama"), "rope_factors_short.weight": pairs("llama")}))

    def bias(size): return numpy.linspace(-1, 1, size, dtype=numpy.float32)
    attention = {f"blk.{layer}.{name}.bias": bias(size) for layer in range(2)
                 for name, size in (("attn_q", WIDTH), ("attn_k", WIDTH // 2), ("attn_v", WIDTH // 2), ("attn_output", WIDTH))}
    inner = {f"blk.{layer}.{name}.bias": bias(size) for layer in range(2)
             for name, size in (("ffn_gate", INNER), ("ffn_up", INNER), ("ffn_down", WIDTH))}
    found += [
        llama("biases of attention", READ, tensors=attention, changes=True), llama("biases of inner layers", READ, tensors=inner, changes=True),
        llama("one bias", REJECTED, tensors={"blk.0.attn_output.bias": bias(WIDTH)}, changes=True),
        maker("gemma")("a bias", REJECTED, tensors={"blk.0.attn_q.bias": bias(WIDTH)}, changes=True),
        phi("a bias", REJECTED, tensors={"blk.0.attn_qkv.bias": bias(2 * WIDTH)}, changes=True)]
    return found


def gemma3():
    case = maker("gemma3")
    pattern = "attention.sliding_window_pattern"
    none = {"attention.sliding_window": None, pattern: None}
    return [
        case("usual layers of the window", READ, {pattern: None}, changes=True),
        case("layers of the window by 2", READ, {pattern: u32(2)}, kept=True),
        case("layers of the window by 3", READ, {pattern: u32(3)}, changes=True, kept=True),
        case("layers of the window by 0", READ, {pattern: u32(0)}, changes=True),
        case("layers of the window as numbers", READ, {pattern: u32s(0, 1, 1)}, changes=True),
        case("layers of the window, too few", REJECTED, {pattern: flags(True, False)}),
        case("another window", READ, {"attention.sliding_window": u32(7)}, changes=True),
        case("no window", READ, none, changes=True), case("window 0", READ, {"attention.sliding_window": u32(0)}, changes=True),
        case("base of windows", READ, {"rope.freq_base_swa": f32(50)}, changes=True, kept=True),
        case("base of windows, of which there are none", NEUTRAL, {"rope.freq_base_swa": f32(50)}, context=none),
        case("yarn without windows", READ, none | {
            "rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(4), "rope.scaling.original_context_length": u32(16),
            "rope.scaling.attn_factor": f32(1.3)}, changes=True),
        case("softcapped logits", READ, {"final_logit_softcapping": f32(3)}, changes=True, kept=True),
        case("logits without a cap", NEUTRAL, {"final_logit_softcapping": f32(0)}, kept=True),
        # llama.cpp knows 27B by its number of layers, and scales its queries by another number.
        case("62 layers, as 27B", READ, {"block_count": u32(62), pattern: None}, layers=62, changes=True, kept=True),
        case("61 layers", READ, {"block_count": u32(61), pattern: None}, layers=61, changes=True),
    ]


# The numbers of layers by which llama.cpp names sizes of models, which change no graph but that of gemma3's 27B.
NAMED_LAYERS = {"llama": (16, 22, 26, 28, 30, 32, 36, 40, 48, 60, 80), "qwen2": (24, 28, 32, 36, 40, 48, 64, 80), "qwen3": (28, 36, 40, 64),
                "phi3": (24, 32, 40), "gemma": (18, 28), "gemma3": (18, 26, 32, 34, 48), "gpt2": (12, 24, 36, 48), "bert": (3, 6, 12, 24)}


def named_layers():
    return [Case(architecture, f"{count} layers", READ, {"block_count": u32(count)} | (
        {"attention.sliding_window_pattern": None} if architecture == "gemma3" else {}), layers=count, changes=True)
        for architecture, counts in NAMED_LAYERS.items() for count in counts]


def bert():
    case = maker("bert")
    return [
        case("no pooling", NEUTRAL, {"pooling_type": u32(0)}), case("mean", READ, {"pooling_type": u32(1)}, kept=True),
        case("first token", READ, {"pooling_type": u32(2)}, kept=True), case("last token", READ, {"pooling_type": u32(3)}, kept=True),
        case("embeddings of any length", READ, {"pooling_type": u32(1), "accelc.normalize_embeddings": flag(False)}, kept=True),
        case("a rank", REJECTED, {"pooling_type": u32(4)}, kept=True), case("another pooling", REJECTED, {"pooling_type": u32(9)}),
        case("causality of none", NEUTRAL, {"attention.causal": None}),
        case("names of classes", NEUTRAL, {"classifier.output_labels": texts("a", "b")}),
        case("other token types", REJECTED, {"tokenizer.ggml.token_type_count": u32(3)}),
    ]


def write_wide(path, kind, blocks):
    """Writes a llama without layers of its own: word embeddings of one type. It is for readers of weights."""
    columns = gguf.quant_shape_from_byte_shape(blocks.shape, kind)[1]
    file = gguf.GGUFWriter(path, "llama")
    file.add_tokenizer_model("none")
    for key, number in {"context_length": LENGTH, "embedding_length": columns, "block_count": 1, "feed_forward_length": INNER,
                        "attention.head_count": 2, "vocab_size": blocks.shape[0]}.items():
        file.add_uint32(f"llama.{key}", number)
    file.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    file.add_tensor("token_embd.weight", blocks, raw_dtype=kind)
    ones = {"attn_q": (columns, columns), "attn_k": (columns, columns), "attn_v": (columns, columns), "attn_output": (columns, columns),
            "ffn_gate": (INNER, columns), "ffn_up": (INNER, columns), "ffn_down": (columns, INNER), "attn_norm": (columns,), "ffn_norm": (columns,)}
    for name, shape in ones.items():
        file.add_tensor(f"blk.0.{name}.weight", numpy.ones(shape, numpy.float32))
    file.add_tensor("output_norm.weight", numpy.ones(columns, numpy.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
