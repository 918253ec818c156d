"""Texts of accelc, and the quality that it measures on a text, against llama.cpp and transformers.

usage: quality.py ACCELC [FOLDER] [CHUNKS]      (CHUNKS: of the text, 8 by default; wants gguf, jinja2, torch, transformers, and llama.cpp,
which scripts/bench/llama.sh builds; exits 3 with a reason when one is missing, or SmolLM2 cannot be had)
Of SmolLM2-135M-Instruct: perplexity, KL divergence and equal top tokens of two compressed packages are those that llama.cpp's perplexity
tool prints for the exports of the same weights, and those that its protocol gives in libllama (the tool rounds the original's probabilities
to 16 bits); greedy texts after 20 prompts are those of libllama and of transformers. libllama rounds activations to 8 bits where weights are quantized, so the same weights are also given to it as float32, which
it computes in float32: those figures and texts have to be accelc's. What rounding changes is printed beside them. Exits 1 on a difference.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

# The folder of this script has names of packages; the one of shared code has none.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared"), str(HERE.parent)] + [
    entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
if len(sys.argv) not in (2, 3, 4):
    sys.exit(__doc__)
try:
    import gguf
    import torch
    import transformers
    from checks import ACCELC, check, finish
    from gguf_floats import in_floats
    import llama_perplexity
    from llama_library import BINARIES
    from llama_text import TextModel
    from perplexity import Scores, log_probabilities
    from prompts import CHAT, RAW
    from transformers.utils.chat_template_utils import render_jinja_template
except ImportError as error:
    print(f"quality: skipped, since {error.name} is missing: pip install gguf jinja2 torch transformers (llama.cpp: scripts/bench/llama.sh)",
          file=sys.stderr)
    sys.exit(3)

CHUNKS = int(sys.argv[3]) if len(sys.argv) > 3 else 8
SCHEMES = ("q4_k_m", "int4")
LIMIT = 0.005
TOKENS = 64


def output(*words):
    """What accelc prints as JSON."""
    done = subprocess.run([ACCELC, *map(str, words), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    return json.loads(done.stdout)


def fixed_text(scratch):
    """24 kB of English: a document in the source package of llama.cpp, which scripts/bench/llama.sh fixes."""
    source = next(BINARIES.parent.parent.glob("llama_cpp_python-*/vendor/llama.cpp/tools/server/README-dev.md"))
    path = scratch / "text.txt"
    path.write_text(source.read_text())
    return path


class Arithmetic:
    """libllama on the original and on its exports, with their figures: of the files, or of the same weights in float32."""

    def __init__(self, original, subjects):
        self.models = [TextModel(path) for path in (original, *subjects)]
        self.scores = [Scores() for _ in self.models]

    def add(self, chunk):
        following = chunk[TextModel.positions // 2 + 1:]
        original = log_probabilities(self.models[0].scored(chunk))
        self.scores[0].add(original, original, following)
        for model, scores in zip(self.models[1:], self.scores[1:]):
            scores.add(log_probabilities(model.scored(chunk)), original, following)

    def figures(self, index):
        """The figures of an export, by the names of accelc's report."""
        return self.scores[index + 1].figures() | {"original": self.scores[0].figures()["perplexity"]}

    def close(self):
        for model in self.models:
            model.close()


def quality(model, floats, scratch):
    """Compares the figures."""
    text, reports, exports, plain = fixed_text(scratch), [], [], []
    for scheme in SCHEMES:
        package = scratch / f"{scheme}.accelpkg"
        output("convert", model, "--compress", scheme, "-o", package, "--no-cache")
        reports.append(output("verify", package, "--against", model, "--only", "container", "--text", text, "--chunks", CHUNKS)["quality"])
        output("export", model, "--format", "gguf", "--compress", scheme, "-o", scratch / f"{scheme}-gguf", "--no-cache")
        exports.append(scratch / f"{scheme}-gguf/model.gguf")
        plain.append(scratch / f"{scheme}.gguf")
        in_floats(exports[-1], plain[-1])
    recorded = scratch / "original.kld"
    llama_perplexity.record(floats, text, CHUNKS, recorded)
    exact, rounded = Arithmetic(floats, plain), Arithmetic(model, exports)
    for chunk in exact.models[0].chunks(text.read_text(), CHUNKS):
        exact.add(chunk)
        rounded.add(chunk)
    for index, (scheme, report) in enumerate(zip(SCHEMES, reports)):
        found = {name: entry["value"] for name, entry in report.items() if name != "text"}
        found["original"] = report["perplexity"]["original"]
        other, tool = rounded.figures(index), llama_perplexity.figures(plain[index], recorded)
        print(f"{scheme}, {report['text']}:")
        for name, expected in exact.figures(index).items():
            apart, printed = (abs(found[name] / value - 1) for value in (expected, tool[name]))
            check(f"{name}: accelc {found[name]:.6g}, libllama in float32 {expected:.6g} ({apart:.4%} apart), llama-perplexity {tool[name]:.6g} "
                  f"({printed:.4%} apart); libllama with activations of 8 bits {other[name]:.6g} (accelc {found[name] / other[name] - 1:+.2%})",
                  max(apart, printed) <= LIMIT)
    exact.close()
    rounded.close()


def rendered(model):
    """The conversations by the chat template in the file, as transformers renders it."""
    template = gguf.GGUFReader(model).get_field("tokenizer.chat_template").contents()
    return render_jinja_template(conversations=CHAT, chat_template=template, add_generation_prompt=True)[0]


def texts(model, scratch):
    """What accelc generates after each prompt: raw texts by --prompt, conversations by --messages."""
    options = ("--temperature", 0, "--generate", TOKENS)
    for prompt in RAW:
        yield output("run", model, "--raw", "--prompt", prompt, *options)["text"].rstrip("\ufffd")
    path = scratch / "messages.json"
    for messages in CHAT:
        path.write_text(json.dumps(messages))
        yield output("run", model, "--messages", path, *options)["text"].rstrip("\ufffd")


def transformed(model, prompt):
    """The tokens that transformers generates, with the end token."""
    ids = torch.tensor([prompt])
    with torch.inference_mode():
        rows = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=TOKENS)
    return rows[0, len(prompt):].tolist()


def generation(path, floats, scratch):
    """Compares the greedy texts. The tokens of prompts, and the text of transformers' tokens, are libllama's."""
    rounded, exact = TextModel(path), TextModel(floats)
    transformers.utils.logging.disable_progress_bar()
    # transformers dequantizes the file itself.
    other = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    prompts, equal = RAW + rendered(path), [0, 0, 0]
    print(f"greedy texts of {TOKENS} tokens:")
    for prompt, own in zip(prompts, texts(path, scratch)):
        label = repr(prompt if len(prompt) < 40 else prompt[:18] + "..." + prompt[-18:])
        tokens = rounded.tokens(prompt, True)
        exact_tokens, rounded_tokens = exact.greedy(tokens, TOKENS), rounded.greedy(tokens, TOKENS)
        answers = [exact.text(exact_tokens), exact.text(transformed(other, tokens)), exact.text(rounded_tokens)]
        same = [own == answer for answer in answers]
        equal = [sum(pair) for pair in zip(equal, same)]
        for name, answer, good in zip(("libllama in float32", "transformers"), answers, same):
            check(f"{label}: {name}" + ("" if good else f" {answer!r}, accelc {own!r}"), good)
        if same[2]:
            continue
        # Where one of them has ended, the other choice is the end token.
        pairs = enumerate(zip(exact_tokens, rounded_tokens))
        at = next((number for number, pair in pairs if pair[0] != pair[1]), min(len(exact_tokens), len(rounded_tokens)))
        row, coarse = (each.last(tokens + exact_tokens[:at]) for each in (exact, rounded))
        gap = float(row.max() - row[coarse.argmax()])
        print(f"       {label}: activations of 8 bits take another way after {at} tokens, where the logits of both choices are {gap:.3f} apart")
    rounded.close()
    exact.close()
    print(f"of {len(prompts)} texts equal: libllama in float32 {equal[0]}, transformers {equal[1]}, "
          f"libllama with activations of 8 bits {equal[2]}")


def main():
    fetched = subprocess.run([HERE.parent / "get_models.sh"], capture_output=True, text=True)
    if fetched.returncode == 3:
        print(fetched.stderr.strip(), file=sys.stderr)
        sys.exit(3)
    model = pathlib.Path(fetched.stdout.strip()) / "smollm2.gguf"
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        floats = scratch / "floats.gguf"
        in_floats(model, floats)
        quality(model, floats, scratch)
        generation(model, floats, scratch)


main()
finish("quality")
