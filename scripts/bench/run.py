"""Times runs of packages beside the same models in other libraries, and prints a line for each row with its bar.

usage: run.py ACCELC SPEED FOLDER MINILM [ROUNDS [MODEL...]]     (wants numpy; FOLDER keeps the models)
Each library has a process of its own; each round calls all of them in turn, and the best counts. Behind a time is the relative error of the
output against accelc's in float32. Where a float32 library's output is another one, the library is left out. Exits 1 when a row misses
its bar.
"""

import json
import pathlib
import shutil
import subprocess
import sys

from safetensors.numpy import load_file

from peer import distance

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 2  # of measuring, in each round
INT8 = ["--compress", "int8", "--activations", "int8"]
FLOAT32 = ["--compress", "float32"]
INT4 = ["--compress", "int4:block=32", "--logits", "last"]
INT4_INT8 = [*INT4, "--activations", "int8"]
FLOAT32_PEERS = ["onnxruntime", "onnxruntime-tuned", "torch", "ctranslate2", "litert"]
INT8_PEERS = ["onnxruntime-int8", "onnxruntime-tuned-int8", "ctranslate2-int8", "litert-int8"]
LARGEST_ERROR = 1e-3  # of a float32 library's output


def layers(count, width, inner, tokens, batch=1):
    """Multiply-adds of an encoder's layers: products with weights, and attention."""
    return batch * tokens * count * (4 * width * width + 2 * width * inner + 2 * tokens * width)


def whisper(count, width):
    return layers(count, width, 4 * width, 1500) + 3 * width * (3000 * 80 + 1500 * width)


KINDS = {("float32", False): "float32", ("int8", True): "int8", ("int4:block=32", False): "int4, float32 activations",
         ("int4:block=32", True): "int4, int8 activations"}


class Row:
    """One line: a package of a model, and what it has to be as fast as."""

    def __init__(self, model, shape, options, peers, bar, work=None, roof=None, batch=1, is_read=False, unread=0):
        self.model, self.shape, self.options, self.peers = model, shape, options, peers
        self.bar, self.work, self.roof, self.batch = bar, work, roof, batch
        self.is_read = is_read  # the bar is a share of the bandwidth at which the weights' bytes are read
        self.unread = unread  # bytes of the package that a step does not read
        self.kind = KINDS[options[1], "--activations" in options]


def encoder_rows(model, shape, work, int8_bar, batch=1):
    yield Row(model, shape, FLOAT32, FLOAT32_PEERS, 1.25, work, 0.78, batch)
    yield Row(model, shape, INT8, INT8_PEERS, int8_bar, batch=batch)


def decoder(count, width, inner, keys, words, tokens):
    """Multiply-adds of a block of tokens, with logits for its last: attention sees half of the block on average."""
    return tokens * count * (2 * width * width + 2 * width * keys + 3 * width * inner + tokens * width) + width * words


DECODER = ("decoder-0.5b", 24, 896, 4864, 128, 151936)


def decoder_rows(name, *sizes):
    block, step = "batch=1,tokens=512,cache=1024", "batch=1,tokens=1,cache=1024"
    yield Row(name, block, INT4_INT8, ["llama.cpp"], 1.2, batch=512)
    yield Row(name, step, INT4_INT8, ["llama.cpp"], 1.2)
    yield Row(name, block, INT4, [], None, decoder(*sizes, 512), 0.7, batch=512)
    yield Row(name, step, INT4, [], None, None, 0.6, is_read=True)


PHI_3_EMBEDDING = 32064 * 3072 * 9 // 16  # bytes in int4:block=32; a step reads one row of it

ROWS = [
    *encoder_rows("minilm", "batch=1,sequence=128", layers(6, 384, 1536, 128), 1.8),
    *encoder_rows("minilm", "batch=32,sequence=128", layers(6, 384, 1536, 128, 32), 1.8, batch=32),
    *encoder_rows("whisper-tiny", "batch=1,frames=3000", whisper(4, 384), 1.4),
    *encoder_rows("whisper-base", "batch=1,frames=3000", whisper(6, 512), 1.4),
    *encoder_rows("whisper-small", "batch=1,frames=3000", whisper(12, 768), 1.4),
    Row("vit-base", "batch=1", FLOAT32, ["onnxruntime", "onnxruntime-tuned", "torch", "litert"], 1.2),
    Row("vit-base", "batch=1", INT8, ["onnxruntime-int8", "onnxruntime-tuned-int8", "litert-int8"], None),
    Row("kokoro", "batch=1,frames=240", FLOAT32, ["onnxruntime", "torch"], 1.2),
    Row("snac", "batch=1,frames=12", FLOAT32, ["onnxruntime", "torch"], 1.2),
    *decoder_rows(*DECODER),
    Row("phi-3-mini", "batch=1,tokens=1,cache=1024", INT4, [], None, None, 0.55, is_read=True, unread=PHI_3_EMBEDDING),
    Row("phi-3-mini", "batch=1,tokens=1,cache=1024", INT4_INT8, [], None, None, 0.7, is_read=True, unread=PHI_3_EMBEDDING),
]
LARGE = {"phi-3-mini"}  # only where they are named
OUTPUTS = {"kokoro": "audio", "snac": "audio"}  # the others' is last_hidden_state
# Other libraries get a network of Kokoro whose audio is another one (seeded.py says why), and llama.cpp's logits are not read.
INCOMPARABLE = {"kokoro", "decoder-0.5b", "phi-3-mini"}
PARTS = {"whisper-tiny": "encoder", "whisper-base": "encoder", "whisper-small": "encoder", "kokoro": "generator"}


def weight_bytes(package):
    return sum(path.stat().st_size for path in package.rglob("*") if path.is_file() and path.suffix != ".json")


class Bench:
    def __init__(self, accelc, speed, folder, minilm, rounds):
        self.accelc, self.speed, self.folder, self.minilm, self.rounds = accelc, speed, folder, minilm, rounds
        self.multiply_adds = self.bandwidth = 0.0
        self.skipped, self.missed = {}, 0
        self.exact = {}  # accelc's float32 output, by model and batch

    def output(self, *command):
        return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout

    def measure_limits(self):
        """The most that the machine can do, as far as seen in this run."""
        multiply_adds, bandwidth = map(float, self.output(self.speed, "limits").split())
        self.multiply_adds, self.bandwidth = max(self.multiply_adds, multiply_adds), max(self.bandwidth, bandwidth)

    def convert(self, row):
        package = self.folder / "run.accelpkg"
        shutil.rmtree(package, ignore_errors=True)
        part = ["--part", PARTS[row.model]] if row.model in PARTS else []
        self.output(self.accelc, "convert", self.folder / row.model, *part, "--shape", row.shape, *row.options, "--no-cache", "--quiet", "-o", package)
        return package

    def run(self, package, inputs, count):
        made = self.output(self.accelc, "run", package, "--inputs", inputs, "--threads", 2, "--repeat", count, "--json")
        return json.loads(made)["best_ms"]

    def output_of(self, package, row, inputs):
        made = self.folder / "ours.safetensors"
        self.output(self.accelc, "run", package, "--inputs", inputs, "--outputs", made, "--quiet")
        return load_file(made)[OUTPUTS.get(row.model, "last_hidden_state")]

    def python(self, library, row):
        """The one of the environment that has the library, and the model for it; none where that cannot be."""
        if not library.startswith("litert"):
            return sys.executable
        environment = subprocess.run([HERE / "litert.sh"], capture_output=True, text=True)
        if environment.returncode:
            return self.skip(library, row, environment)
        python = environment.stdout.strip()
        made = subprocess.run([python, HERE / "litert.py", self.folder, row.model, str(row.batch)], capture_output=True, text=True)
        if made.returncode:
            return self.skip(library, row, made)
        print("".join(f"{line}\n" for line in made.stdout.splitlines() if "made for LiteRT" in line), end="", flush=True)
        return python

    def peer(self, library, row):
        """Milliseconds and the output's error; none, with the reason said once, where it cannot run."""
        if (library, row.model) in self.skipped:
            return None
        if library == "llama.cpp":
            return self.llama(row)
        if (python := self.python(library, row)) is None:
            return None
        output = self.folder / "theirs.safetensors"
        made = subprocess.run([python, HERE / "peer.py", library, self.folder, row.model, str(row.batch), str(SECONDS), output],
                              capture_output=True, text=True)
        if made.returncode:
            return self.skip(library, row, made)
        error = self.error(row, load_file(output)["y"])
        if error is not None and row.kind == "float32" and not error <= LARGEST_ERROR:
            return self.skip(library, row, f"its output has a relative error of {error:.1e} against accelc's")
        return float(made.stdout.splitlines()[-1]), error

    def error(self, row, output):
        return None if row.model in INCOMPARABLE else distance(output, self.exact[row.model, row.batch])

    def skip(self, library, row, made):
        if isinstance(made, str):
            reason = made
        else:
            reason = made.stderr.strip().splitlines()[-1] if made.stderr.strip() else f"exit status {made.returncode}"
        self.skipped[library, row.model] = reason
        print(f"{row.model}, {library}: skipped, since {reason}", flush=True)

    def llama(self, row):
        program = subprocess.run([HERE / "llama.sh"], capture_output=True, text=True)
        if program.returncode:
            return self.skip("llama.cpp", row, program)
        made = subprocess.run([program.stdout.strip(), self.folder / f"{row.model}.gguf", "512", "2", "3"], capture_output=True, text=True)
        if made.returncode:
            return self.skip("llama.cpp", row, made)
        block, step = map(float, made.stdout.split())
        return block if row.batch == 512 else step, None

    def measure(self, row):
        package = self.convert(row)
        if row.is_read:
            row.work = weight_bytes(package) - row.unread
        inputs = self.folder / f"{row.model}.{row.batch}.safetensors"
        ours, theirs, errors = self.run(package, inputs, 3), {}, {}
        if row.model not in INCOMPARABLE:
            output = self.output_of(package, row, inputs)
            self.exact.setdefault((row.model, row.batch), output)  # the first row of a model is float32
            errors["ours"] = self.error(row, output) if row.kind != "float32" else None
        for _ in range(self.rounds):
            self.measure_limits()
            ours = min(ours, self.run(package, inputs, max(3, int(SECONDS * 1000 / ours))))
            for library in row.peers:
                if (found := self.peer(library, row)) is not None:
                    theirs[library] = min(theirs.get(library, found[0]), found[0])
                    errors[library] = found[1]
        shutil.rmtree(package)
        self.report(row, ours, theirs, errors)

    def report(self, row, ours, theirs, errors):
        figures = [f"{library} {time:.1f} ms" + (f" ({error:.1e})" if (error := errors.get(library)) is not None else "")
                   for library, time in {"ours": ours, **theirs}.items()]
        bars, verdicts = [], []
        if theirs:
            ratio = min(theirs.values()) / ours
            figures.append(f"ratio {ratio:.2f}")
            if row.bar:
                bars.append(f">= {row.bar}x")
                verdicts.append(ratio >= row.bar)
        if row.roof:
            share = row.work / ours * 1000 / (self.bandwidth if row.is_read else self.multiply_adds)
            figures.append(f"{100 * share:.0f} % of the {'read bandwidth' if row.is_read else 'FMA roof'}")
            bars.append(f">= {100 * row.roof:.0f} %")
            verdicts.append(share >= row.roof)
        met = any(verdicts)
        self.missed += bool(verdicts) and not met
        verdict = ("met" if met else "MISSED") if verdicts else ""
        print(f"{row.model + ' ' + row.shape + ' ' + row.kind:44} {'   '.join(figures)}   {' or '.join(bars)}   {verdict}", flush=True)


def main(accelc, speed, folder, minilm, rounds=3, *names):
    known = list(dict.fromkeys(row.model for row in ROWS))
    if unknown := set(names) - set(known):
        sys.exit(f"run: no model is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(accelc, speed, folder, minilm, int(rounds))
    names = names or [name for name in known if name not in LARGE]
    for name in names:
        subprocess.run([sys.executable, HERE / "models.py", folder, minilm, name], check=True, stdout=subprocess.DEVNULL)
        for row in ROWS:
            if row.model == name:
                bench.measure(row)
    print(f"limits: {bench.multiply_adds / 1e9:.0f} billion multiply-adds a second, memory is read at {bench.bandwidth / 1e9:.1f} GB/s")
    if bench.missed:
        sys.exit(f"{bench.missed} rows missed their bar")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
