"""Times runs of packages beside the same models in other libraries, and prints a line for each row with its bar.

usage: run.py ACCELC SPEED FOLDER MINILM [ROUNDS [MODEL...]]     (wants numpy; FOLDER keeps the models)
Each library has a process of its own; each round calls all of them in turn, and the best counts. Exits 1 when a row misses its bar.
"""

import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 2  # of measuring, in each round
INT8 = ["--compress", "int8", "--activations", "int8"]
FLOAT32 = ["--compress", "float32"]
FLOAT32_PEERS = ["onnxruntime", "torch", "ctranslate2"]
INT8_PEERS = ["onnxruntime-int8", "ctranslate2-int8"]


def layers(count, width, inner, tokens, batch=1):
    """Multiply-adds of an encoder's layers: products with weights, and attention."""
    return batch * tokens * count * (4 * width * width + 2 * width * inner + 2 * tokens * width)


def whisper(count, width):
    return layers(count, width, 4 * width, 1500) + 3 * width * (3000 * 80 + 1500 * width)


class Row:
    """One line: a package of a model, and what it has to be as fast as."""

    def __init__(self, model, shape, options, peers, bar, work=None, roof=None, batch=1):
        self.model, self.shape, self.options, self.peers = model, shape, options, peers
        self.bar, self.work, self.roof, self.batch = bar, work, roof, batch
        self.kind = "int8" if options is INT8 else "float32"


def encoder_rows(model, shape, work, int8_bar, batch=1):
    yield Row(model, shape, FLOAT32, FLOAT32_PEERS, 1.25, work, 0.78, batch)
    yield Row(model, shape, INT8, INT8_PEERS, int8_bar, batch=batch)


ROWS = [
    *encoder_rows("minilm", "batch=1,sequence=128", layers(6, 384, 1536, 128), 1.8),
    *encoder_rows("minilm", "batch=32,sequence=128", layers(6, 384, 1536, 128, 32), 1.8, batch=32),
    *encoder_rows("whisper-tiny", "batch=1,frames=3000", whisper(4, 384), 1.4),
    *encoder_rows("whisper-base", "batch=1,frames=3000", whisper(6, 512), 1.4),
    *encoder_rows("whisper-small", "batch=1,frames=3000", whisper(12, 768), 1.4),
]
PARTS = {"whisper-tiny": "encoder", "whisper-base": "encoder", "whisper-small": "encoder"}


class Bench:
    def __init__(self, accelc, speed, folder, minilm, rounds):
        self.accelc, self.speed, self.folder, self.minilm, self.rounds = accelc, speed, folder, minilm, rounds
        self.multiply_adds = self.bandwidth = 0.0
        self.skipped, self.missed = {}, 0

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

    def peer(self, library, row):
        """Milliseconds; none, with the reason said once, where it cannot run."""
        if (library, row.model) in self.skipped:
            return None
        made = subprocess.run([sys.executable, HERE / "peer.py", library, self.folder, row.model, str(row.batch), str(SECONDS)],
                              capture_output=True, text=True)
        if made.returncode == 0:
            return float(made.stdout)
        reason = made.stderr.strip().splitlines()[-1] if made.stderr.strip() else f"exit status {made.returncode}"
        self.skipped[library, row.model] = reason
        print(f"{row.model}, {library}: skipped, since {reason}", flush=True)
        return None

    def measure(self, row):
        package, inputs = self.convert(row), self.folder / f"{row.model}.{row.batch}.safetensors"
        ours, theirs = self.run(package, inputs, 3), {}
        for _ in range(self.rounds):
            self.measure_limits()
            ours = min(ours, self.run(package, inputs, max(3, int(SECONDS * 1000 / ours))))
            for library in row.peers:
                if (time := self.peer(library, row)) is not None:
                    theirs[library] = min(theirs.get(library, time), time)
        shutil.rmtree(package)
        self.report(row, ours, theirs)

    def report(self, row, ours, theirs):
        figures = [f"ours {ours:.1f} ms", *(f"{library} {time:.1f}" for library, time in theirs.items())]
        bars, verdicts = [], []
        if theirs:
            ratio = min(theirs.values()) / ours
            figures.append(f"ratio {ratio:.2f}")
            bars.append(f">= {row.bar}x")
            verdicts.append(ratio >= row.bar)
        if row.roof:
            share = row.work / ours * 1000 / self.multiply_adds
            figures.append(f"{100 * share:.0f} % of the FMA roof")
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
    names = names or known
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
