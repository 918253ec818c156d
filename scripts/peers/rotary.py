"""Rotary embeddings of every kind and family: accelc's own runtime, and CTranslate2 on accelc's folders, against transformers.

usage: rotary.py ACCELC [MINILM] [CASE...]      (wants ctranslate2, transformers, torch)
Each case is a tiny model with seeded weights, whose config.json has a kind of rotary embedding in one of its dialects. transformers is
run on the same tokens. accelc's package and the folder that it exports for CTranslate2 have to give the same logits, or accelc has to
reject the model: where transformers fails too, where the family is known to lack the kind, or where CTranslate2 lacks it.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared")] + [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
try:
    import ctranslate2
    import numpy
    import small_models
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as error:
    print(f"rotary: skipped, since {error.name} is missing", file=sys.stderr)
    sys.exit(3)

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
ACCELC = sys.argv[1]
# The largest difference, relative to the largest logit.
LIMIT = 2e-5
TOKENS = [1, 5, 9, 13, 21, 34, 40, 44, 2]
POSITIONS = 64
SIZES = dict(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=28, vocab_size=47,
    max_position_embeddings=POSITIONS, pad_token_id=0, bos_token_id=1, eos_token_id=2, initializer_range=0.2)
FAMILIES = {
    "Llama": {}, "Mistral": dict(sliding_window=None), "Qwen2": {}, "Qwen3": dict(head_dim=8), "Gemma": dict(head_dim=8), "Phi3": {},
    "Gemma3": dict(head_dim=8, num_hidden_layers=3, sliding_window=4,
                   layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
}
FACTORS = dict(short_factor=[1.0, 1.1, 1.3, 1.6], long_factor=[1.0, 1.7, 2.9, 4.1])
KINDS = {
    "default": {}, "linear": dict(factor=4.0), "dynamic": dict(factor=2.0),
    "llama3": dict(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16),
    "yarn": dict(factor=4.0, original_max_position_embeddings=16),
    "yarn untruncated": dict(factor=4.0, original_max_position_embeddings=16, truncate=False),
    "longrope": dict(FACTORS, factor=8.0, original_max_position_embeddings=8),
    "proportional": dict(factor=2.0, partial_rotary_factor=0.5),
}
# What CTranslate2 has of each family.
THEIRS = {name: {"default", "linear", "llama3"} for name in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma")} | {"Phi3": {"default", "longrope"}}
GONE = object()


class Case:
    def __init__(self, name, family, fields, kind, rejected=None, theirs=None):
        self.name, self.family, self.fields, self.kind = name, family, fields, kind
        # What accelc has to say where it rejects the model, or only its export; None where it must not.
        self.rejected, self.theirs = rejected, theirs


def rope(kind, theta=700.0):
    return dict(KINDS[kind], rope_type=kind.split()[0], rope_theta=theta)


def fields_of(family, kind, dialect):
    values = rope(kind)
    if family == "Gemma3":
        if dialect == "new":
            return {"rope_parameters": {"full_attention": values, "sliding_attention": rope("default", 40.0)}}
        return {"rope_parameters": GONE, "rope_theta": values.pop("rope_theta"), "rope_local_base_freq": 40.0, "rope_scaling": values}
    if family == "Phi3" and "original_max_position_embeddings" in values:
        values = {key: value for key, value in values.items() if key != "original_max_position_embeddings"}
        outside = {"original_max_position_embeddings": KINDS[kind]["original_max_position_embeddings"]}
    else:
        outside = {}
    if dialect == "new":
        return {"rope_parameters": values, **outside}
    theta = values.pop("rope_theta")
    named = {("type" if dialect == "old" else key) if key == "rope_type" else key: value for key, value in values.items()}
    return {"rope_parameters": GONE, "rope_theta": theta, "rope_scaling": None if kind == "default" else named, **outside}


def cases():
    for family, kind, dialect in itertools.product(FAMILIES, KINDS, ("new", "middle", "old")):
        # Its first configurations had no kind at all, and later ones name it rope_type.
        if family == "Gemma3" and dialect == "old":
            continue
        if family == "Phi3" and kind not in ("default", "longrope"):
            yield Case(f"{family}, {kind}, {dialect}", family, fields_of(family, kind, dialect), kind, rejected="")
            continue
        yield Case(f"{family}, {kind}, {dialect}", family, fields_of(family, kind, dialect), kind)
    # Phi-3's numbers of positions.
    for original, kind in itertools.product((5, 8, 16, 32, 64, 128), ("default", "longrope")):
        for more in [{}] if kind == "default" else [{}, dict(factor=4.0), dict(factor=2.5), dict(factor=0.5), dict(attention_factor=1.3)]:
            values = {key: value for key, value in (rope(kind) | more).items() if key != "original_max_position_embeddings"}
            if not more or "factor" not in more:
                values.pop("factor", None)
            words = ", ".join(f"{key} {value}" for key, value in more.items())
            yield Case(
                f"Phi3, {kind}, {original} of {POSITIONS} positions{', ' + words if words else ''}", "Phi3",
                {"original_max_position_embeddings": original, "rope_parameters": values}, kind, theirs="any")
    # Which of several places counts.
    for family in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma"):
        for name, fields in {
            "a base beside the one inside": {"rope_theta": 50.0, "rope_parameters": rope("linear")},
            "rope_scaling beside rope_parameters": {
                "rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_parameters": rope("linear")},
            "an empty rope_scaling": {"rope_scaling": {}, "rope_parameters": rope("linear")},
            "type beside rope_type": {
                "rope_parameters": GONE, "rope_theta": 700.0, "rope_scaling": {"type": "dynamic", "rope_type": "linear", "factor": 2.0}},
            "a share of heads": {"partial_rotary_factor": 0.5, "rope_parameters": rope("default")},
            "a share of heads inside": {"rope_parameters": rope("default") | {"partial_rotary_factor": 0.5}},
            "llama3, the first length outside": {
                "original_max_position_embeddings": 32, "rope_parameters": rope("llama3")},
            "llama3, no first length": {
                "rope_parameters": {key: value for key, value in rope("llama3").items() if not key.startswith("original")}},
        }.items():
            yield Case(f"{family}, {name}", family, fields, "linear")


def class_of(family):
    return getattr(transformers, f"{family}ForCausalLM")


def build(case, folder):
    torch.manual_seed(3)
    kind = class_of(case.family)
    model = kind(kind.config_class(**(SIZES | FAMILIES[case.family])))
    with torch.no_grad():
        for index, (name, tensor) in enumerate(model.named_parameters()):
            if tensor.dim() == 1:
                tensor.add_(torch.randn(tensor.shape, generator=torch.Generator().manual_seed(index)) * 0.2)
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    for key, value in case.fields.items():
        if value is GONE:
            config.pop(key, None)
        else:
            config[key] = value
    (folder / "config.json").write_text(json.dumps(config))
    small_models.words(folder, config)


def by_transformers(case, folder):
    model = class_of(case.family).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(torch.tensor([TOKENS])).logits.double().numpy()


class Rejected(Exception):
    pass


def run(*arguments):
    """Returns what accelc says on standard error."""
    done = subprocess.run([ACCELC, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 2, 3, 4):
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()}")
    if done.returncode:
        raise Rejected(done.stderr.strip().splitlines()[-1])
    return done.stderr


def by_accelc(folder, scratch):
    count = len(TOKENS)
    run("convert", folder, "--shape", f"batch=1,cache={count},tokens={count}", "--compress", "float32", "--no-cache", "-o", scratch / "p.accelpkg")
    save_file({"input_ids": torch.tensor([TOKENS]), "position": torch.zeros(1, dtype=torch.int64)}, scratch / "in.safetensors")
    run("run", scratch / "p.accelpkg", "--inputs", scratch / "in.safetensors", "--outputs", scratch / "out.safetensors")
    return load_file(scratch / "out.safetensors")["logits"].double().numpy()


def by_ctranslate2(folder, scratch):
    said = run("export", folder, "--format", "ctranslate2", "--quantization", "float32", "--no-cache", "-o", scratch / "ct2")
    generator = ctranslate2.Generator(str(scratch / "ct2"), compute_type="float32")
    return numpy.array(generator.forward_batch([TOKENS])).astype(numpy.float64), "by the long factors" in said


def attempt(function, *arguments):
    """The result and what happened."""
    try:
        return function(*arguments), ""
    except Rejected as rejection:
        return None, str(rejection)


def apart(found, expected):
    return float(abs(found - expected).max() / abs(expected).max())


def usable(case):
    """Whether CTranslate2 chooses the factors that transformers chooses: it makes 2,048 positions at once, for which it takes the long ones."""
    if case.kind != "longrope":
        return True
    return case.fields.get("original_max_position_embeddings", 0) < len(TOKENS)


def judge(case, scratch):
    folder = scratch / "model"
    build(case, folder)
    try:
        expected, theirs = by_transformers(case, folder), ""
    except Exception as error:  # whatever transformers throws is its rejection
        expected, theirs = None, f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"
    own, rejection = attempt(by_accelc, folder, scratch)
    good, lines = True, []
    if own is None:
        good = expected is None or case.rejected is not None
        lines.append(f"rejected: {rejection[-110:]}" + (f" (transformers: {theirs})" if theirs else ""))
    elif expected is None:
        good = False
        lines.append(f"converted, where transformers fails: {theirs}")
    else:
        figure = apart(own, expected)
        good = figure <= LIMIT
        lines.append(f"own {figure:.1e}")
    other, rejection = attempt(by_ctranslate2, folder, scratch)
    if other is None:
        has = case.kind in THEIRS.get(case.family, set()) and own is not None and case.theirs is None
        good = good and not has
        lines.append(f"CTranslate2 rejected: {rejection[-90:]}")
    elif expected is None:
        good = False
        lines.append("exported, where transformers fails")
    else:
        other, warned = other
        figure = apart(other, expected)
        # A difference is one that accelc warns of.
        good = good and (figure <= LIMIT or warned and not usable(case))
        lines.append(f"CTranslate2 {figure:.1e}" + (", by the other factors, with a warning" if figure > LIMIT and warned else ""))
    return good, "; ".join(lines)


def main():
    wanted = [word for word in sys.argv[2:] if not pathlib.Path(word).is_dir()]
    failed, count = [], 0
    for case in cases():
        if wanted and case.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            good, what = judge(case, pathlib.Path(scratch))
        count += 1
        print(f"  {'ok  ' if good else 'FAIL'} {case.name}: {what}", flush=True)
        failed += [] if good else [case.name]
    if failed:
        sys.exit(f"rotary: {len(failed)} failed")
    print(f"rotary: {count} cases agree with transformers {transformers.__version__} and ctranslate2 {ctranslate2.__version__}")


if __name__ == "__main__":
    main()
