"""CTranslate2 folders of accelc against CTranslate2's own converter and runtime.

usage: ctranslate2.py ACCELC [FOLDER [NAME...]]      (wants ctranslate2, transformers, torch; exits 3 with the command that
installs them). FOLDER holds MiniLM, as peers.sh gives it; NAMEs choose models.
Every model, in every type: model.bin, config.json and vocabulary.json have the bytes of ct2-transformers-converter, and
CTranslate2 computes what transformers has computed, as far as the type allows. Prints one table with both converters' times: that
of accelc with its process, that of the other within a running Python. Exits 1 on a difference.

The converter of CTranslate2 4.8 does not work with transformers 5 for BERT and Phi 3, and takes Gemma's base of rotary embeddings
for 10000: `converters.Converter` gives it the fields under their old names. It leaves out numbers without which CTranslate2 computes something else
than the model (`completed`): the factor of Llama 3's rotary embeddings, an unusual width of Llama's heads, the rotated width and the
epsilon of Phi 3. Such models are compared with its file after these were added, and marked with a plus.
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# The folder of this script has a name of its own first on the path; that of shared code has none.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared")] + [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
try:
    import converters
    import ctranslate2
    import numpy
    import safetensors.numpy
    import small_models
except ImportError as error:
    print(
        f"ctranslate2: skipped, since {error.name} is missing: pip install ctranslate2 transformers torch safetensors",
        file=sys.stderr)
    sys.exit(3)
FIXTURES = HERE.parent.parent / "Tests/Fixtures"
CASES = HERE.parent.parent.parent / "shared/cases"
MODELS = [
    "bert_base", "bert_bfloat16", "bert_float16", "bert_prefixed", "bert_seqcls", "distilbert_model", "roberta_model",
    "xlmr_model", "gemma_early", "llama_bfloat16", "llama_llama3", "llama_linear_old", "mistral_window", "phi3_long",
    "qwen2_window", "qwen3_small", "whisper_small",
]
# Where they are: larger models of the same families.
LARGER = [
    "bert_model", "llama_gqa_llama3rope", "llama_mha_bias_headdim", "phi3_4k", "phi3_sliding", "qwen2", "qwen3",
    "whisper_80", "whisper_128_turbo",
]
# How CTranslate2 sees real models: MiniLM, with its own tokenizer and its goldens.
MINILM = "minilm"
# The largest difference from transformers' float64, relative to the largest value, for weights of each type decoded to float32.
LIMITS = {
    "float32": 2e-6, "float16": 4e-3, "bfloat16": 4e-2, "int16": 2e-2, "int8": 8e-2, "int8_float32": 8e-2,
    "int8_float16": 8e-2, "int8_bfloat16": 8e-2,
}
TYPES = list(LIMITS)
failures = []


def chosen(data):
    """A prompt of Whisper, and the token with the largest golden logit after it. Its last token stands for no time stamps, so that
    those above it are time stamps, which are not chosen."""
    tokens, logits = data["in.decoder_input_ids"][0].tolist(), data["ref64.logits_full"][0]
    for count in range(2, len(tokens)):
        best = int(logits[count - 1].argmax())
        if len(set(tokens[:count])) == count and max(tokens[:count - 1] + [best]) < tokens[count - 1]:
            return tokens[:count], best
    raise ValueError("no prompt is followed by a token that is not a time stamp")


def tokenizer(folder, config, data):
    """A tokenizer of words; Whisper's has the tokens that generate wants in the prompt."""
    small_models.words(folder, config, prompt=chosen(data)[0] if config["model_type"] == "whisper" else ())


def prepared(source, folder):
    """A copy of a model, with a tokenizer and, of Whisper, with what generation_config.json says of languages and heads."""
    shutil.copytree(source, folder)
    config = json.loads((folder / "config.json").read_text())
    data = safetensors.numpy.load_file(folder / "golden.safetensors")
    tokenizer(folder, config, data)
    if config["model_type"] == "whisper" and config["encoder_layers"] == 1 or source.name == "whisper_80":
        path = folder / "generation_config.json"
        generation = json.loads(path.read_text()) if path.exists() else {}
        generation.pop("_from_model_config", None)
        generation.update(
            alignment_heads=[[1, 0], [0, 1]], lang_to_id={"<|en|>": 12, "<|de|>": 9}, suppress_tokens=[1, 7],
            begin_suppress_tokens=[5], is_multilingual=True)
        path.write_text(json.dumps(generation))
    return config, data


def by_accelc(source, folder, kind, *more):
    start = time.perf_counter()
    done = subprocess.run(
        [sys.argv[1], "export", str(source), "--format", "ctranslate2", "--quantization", kind, "--no-cache", "--quiet", "-o",
         str(folder), *more], capture_output=True, text=True)
    return time.perf_counter() - start, done.stderr.strip() if done.returncode else ""


def differences(own, other):
    return [name for name in ("model.bin", "config.json", "vocabulary.json")
            if (own / name).read_bytes() != (other / name).read_bytes()]


def apart(found, expected):
    return float(numpy.abs(found.astype(numpy.float64) - expected).max() / numpy.abs(expected).max())


def encoder(folder, data, compute, config):
    model = ctranslate2.Encoder(str(folder), compute_type=compute)
    if "in.input_ids" not in data:
        return math.nan
    worst, rows = 0.0, 0
    for row, (tokens, mask) in enumerate(zip(data["in.input_ids"], data["in.attention_mask"])):
        count = int(mask.sum())
        # Rows with padding in front or between have other positions in CTranslate2.
        if not mask[:count].all() or "roberta" in config["model_type"] and config["pad_token_id"] in tokens[:count]:
            continue
        rows += 1
        segments = data["in.token_type_ids"][row:row + 1, :count].tolist() if "in.token_type_ids" in data else None
        result = model.forward_batch([tokens[:count].tolist()], token_type_ids=segments)
        if "ref64.last_hidden_state" in data:
            found = numpy.array(result.last_hidden_state)[0]
            worst = max(worst, apart(found, data["ref64.last_hidden_state"][row, :count]))
        if "ref64.pooler_output" in data and result.pooler_output is not None:
            worst = max(worst, apart(numpy.array(result.pooler_output)[0], data["ref64.pooler_output"][row]))
    if not rows:
        raise ValueError("no row without padding within it")
    # A classifier's golden file has logits, for which CTranslate2 has no head.
    return worst if {"ref64.last_hidden_state", "ref64.pooler_output"} & data.keys() else math.nan


def decoder(folder, data, compute, config):
    model = ctranslate2.Generator(str(folder), compute_type=compute)
    tokens = data["in.input_ids"]
    # Within the window: most families have none in CTranslate2, and it does not take longer prompts at once.
    window = config.get("sliding_window") or tokens.shape[1]
    found = numpy.array(model.forward_batch(tokens[:, :window].tolist()))
    return apart(found, data["ref64.logits_full"][:, :window])


def whisper(folder, data, compute, config):
    model = ctranslate2.models.Whisper(str(folder), compute_type=compute)
    features = ctranslate2.StorageView.from_array(data["in.input_features"])
    hidden = model.encode(features, to_cpu=True)
    prompt, best = chosen(data)
    # It counts twice what the prompt has, and returns the prompt's tokens behind the first if they are not Whisper's own.
    result = model.generate(
        hidden, [prompt], beam_size=1, max_length=2 * len(prompt) + 2, suppress_blank=False, suppress_tokens=[])
    found = result[0].sequences_ids[0]
    if folder.name == "own-float32" and [best] != found[:1] and prompt[1:] + [best] != found[:len(prompt)]:
        raise ValueError(f"generates {found} after {prompt}, not {best}")
    return apart(numpy.array(hidden), data["ref64.encoder_hidden"])


def runner(config):
    kind = config["model_type"]
    return whisper if kind == "whisper" else encoder if "bert" in kind else decoder


def row(name, source, data, config, kind, scratch):
    own, other = scratch / f"own-{kind}", scratch / f"other-{kind}"
    seconds, error = by_accelc(source, own, kind)
    if error:
        failures.append(f"{name} {kind}")
        return print(f"{name:24}{kind:14} FAIL {error}")
    theirs, completed = converters.convert_ctranslate2(source, other, kind)
    different = differences(own, other)
    run = runner(config)
    decoded = run(own, data, "float32", config)
    native = run(own, data, "int8", config) if kind.startswith("int8") else decoded
    exact = ""
    if kind == "int8_float16":
        better = scratch / "better"
        _, error = by_accelc(source, better, kind, "--better-scales")
        exact = f"  --better-scales {run(better, data, 'float32', config):.1e}" if not error else f" FAIL {error}"
    good = not different and not decoded >= LIMITS[kind] and "FAIL" not in exact
    if not good:
        failures.append(f"{name} {kind}")
    same = "differ: " + ", ".join(different) if different else "the same bytes" + ("+" if completed else "")
    print(
        f"{name:24}{kind:14} {'ok  ' if good else 'FAIL'} {same:16} float32 {decoded:.1e}  int8 {native:.1e}  "
        f"{seconds * 1000:7.0f} ms, {theirs * 1000:7.0f} ms{exact}", flush=True)



def models(folder, only):
    """The names and folders of all models that are here."""
    found = [(name, (FIXTURES if name in MODELS else CASES) / name) for name in MODELS + LARGER]
    found = [(name, path) for name, path in found if name in MODELS or path.exists()]
    if folder is not None and (folder / "model").exists():
        found.append((MINILM, folder / "model"))
    return [(name, path) for name, path in found if not only or name in only]


def minilm(source, folder, goldens):
    shutil.copytree(source, folder)
    data = safetensors.numpy.load_file((goldens if goldens.exists() else FIXTURES / "minilm_8x128") / "golden.safetensors")
    data = {name.replace("out.", "ref64."): value for name, value in data.items()}
    return json.loads((folder / "config.json").read_text()), data


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    for name, path in models(folder, sys.argv[3:]):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            source = scratch / "source"
            config, data = minilm(path, source, folder / "golden_8x128") if name == MINILM else prepared(path, source)
            for kind in TYPES:
                try:
                    row(name, source, data, config, kind, scratch)
                except Exception as problem:  # The rows after it are wanted, too.
                    failures.append(f"{name} {kind}")
                    print(f"{name:24}{kind:14} FAIL {type(problem).__name__}: {str(problem)[:200]}")
    if failures:
        sys.exit(f"ctranslate2: {len(failures)} failed: {', '.join(failures)}")


if __name__ == "__main__":
    main()
