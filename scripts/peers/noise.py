"""Float32 noise: how far outputs of accelc and of the framework are from float64, for every case that has goldens, side by side.

usage: noise.py ACCELC MINILM [CASE...]     (CASE: NAME, or NAME:outliers; MINILM: model/ and goldens as scripts/minilm.py makes them)
The cases are the families of Tests/Fixtures, those of ../shared/cases where it is, and MiniLM; and each but that again with outliers
among its weights. Seed 0 is the case as it is stored; for the others, its weights and inputs are shuffled, element by element. Truth is
the framework's own code with every operation in float64: the norms, the softmax and the rotations that transformers does in float32 even
in a model of float64, too, so it is not always the golden file's `ref64`. The framework's float32 noise is measured with one and two
threads, with oneDNN and without, and with both of its attentions, because each adds in another order. Where its code is not at hand
(Silero's), the golden file's `out` is its only sample, and truth is `accelc run --backend reference`, float64 rounded after each operator;
the row says so. Errors are relative to the root mean square of an output.

The ratio is our noise by the framework's: of each seed, then the geometric mean. The limit is 1 with two allowances, both measured:
the largest ratio of one of the framework's own settings to all of them, and four standard errors of our ratio over the seeds, because a
few numbers say little and there are hundreds of rows. The mean of all ratios has no allowance. Exits 1 when a ratio is above its limit.
"""

import json
import math
import pathlib
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# The folder of this script has names of packages in it.
sys.path = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE] + [str(HERE.parent / "noise")]
try:
    import safetensors.torch
    import torch
    import frameworks
    import ours
except ImportError as error:
    print(f"noise: skipped, since {error.name} is missing", file=sys.stderr)
    sys.exit(3)

SEEDS = 6
ROOTS = [HERE.parents[1] / "Tests" / "Fixtures", HERE.parents[2] / "shared" / "cases"]
# Bound to others, so not shuffled.
KEPT = {"har", "f0", "attention_mask", "token_type_ids"}


def shuffled(tensor, generator):
    return tensor.flatten()[torch.randperm(tensor.numel(), generator=generator)].reshape(tensor.shape)


class Subject:
    """A case, with its weights as they are or with outliers."""

    def __init__(self, golden, model=None, has_outliers=False):
        self.golden, self.model, self.has_outliers = golden, model or golden, has_outliers
        self.name = golden.name + (":outliers" if has_outliers else "")
        self.case = json.loads((golden / "case.json").read_text())
        self.keeps_weights = model is not None
        self.config = json.loads((self.model / "config.json").read_text())
        self.is_alone = self.case["family"] == "silero_vad"

    def stored(self, prefix):
        tensors = safetensors.torch.load_file(self.golden / "golden.safetensors")
        return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

    def inputs(self, seed):
        """The golden inputs, or others of the same kind."""
        given = self.stored("in.")
        generator = torch.Generator().manual_seed(seed)
        return given if seed == 0 else {name: self.drawn(name, tensor, given, generator) for name, tensor in given.items()}

    def drawn(self, name, tensor, given, generator):
        if name in KEPT:
            return tensor
        if name.startswith("codes."):
            return torch.randint(tensor.max() + 1, tensor.shape, generator=generator)
        if not name.endswith("input_ids"):
            return shuffled(tensor, generator)
        moved = given.get("attention_mask", torch.ones_like(tensor)).bool() & ~torch.isin(tensor, torch.tensor(self.special_tokens(tensor)))
        result = tensor.clone()
        result[moved] = shuffled(tensor[moved], generator)
        return result

    def special_tokens(self, tokens):
        config = self.config | (self.config.get("text_config") or {})
        found = [config[name] for name in config if name.endswith("_token_id") and isinstance(config[name], int)]
        return found + [tokens.max().item()] if config["model_type"].startswith("clip") else found

    def checkpoint(self, seed, folder):
        """The folder of the model."""
        if self.keeps_weights or seed == 0 and not self.has_outliers:
            return self.model
        shutil.copytree(self.model, folder, ignore=shutil.ignore_patterns("golden.safetensors", "*.legacy_names.*"))
        generator = torch.Generator().manual_seed(seed)
        for path in sorted(folder.glob("*.safetensors")):
            tensors = safetensors.torch.load_file(path)
            for name, tensor in sorted(tensors.items()):
                if tensor.is_floating_point() and seed > 0:
                    tensor = shuffled(tensor, generator)
                tensors[name] = with_outliers(name, tensor, generator) if self.has_outliers else tensor
            safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})
        return folder


def with_outliers(name, tensor, generator):
    """As trained transformers have them: a few gains, and single weights, that are many times larger than the rest."""
    if not tensor.is_floating_point() or not name.endswith("weight") or tensor.numel() < 16:
        return tensor
    large = torch.rand(tensor.shape, generator=generator) < (0.05 if tensor.ndim == 1 else 0.002)
    return torch.where(large, 20 * tensor, tensor)


def grouped(name):
    """The name of the row in which an output is."""
    name = re.sub(r"^kv_\w+\.(self_)?[kv]\.\d+$", "key/value cache", name)
    return re.sub(r"\d+", "N", name)


def errors(outputs, truth):
    """Of each group of outputs: the root mean square and the largest of the errors, relative to each output's root mean square."""
    groups = {}
    for name, expected in truth.items():
        if name in outputs and expected.numel():
            error = (outputs[name].double() - expected) / expected.square().mean().sqrt()
            groups.setdefault(grouped(name), []).append((error.square().mean().item(), error.abs().max().item()))
    return {name: (math.sqrt(sum(square for square, _ in found) / len(found)), max(largest for _, largest in found))
            for name, found in groups.items()}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class Ratio:
    """Our noise by the framework's over some seeds, and what may be allowed."""

    def __init__(self, own, peers):
        # [seed] and [seed][setting]; a noise of 0 is one last digit.
        least = 2 ** -26
        together = [math.sqrt(mean(max(noise, least) ** 2 for noise in settings)) for settings in peers]
        logs = [math.log(max(noise, least) / all_settings) for noise, all_settings in zip(own, together)]
        self.own, self.peer = math.sqrt(mean(noise ** 2 for noise in own)), math.sqrt(mean(noise ** 2 for noise in together))
        self.log = mean(logs)
        deviation = math.sqrt(sum((log - self.log) ** 2 for log in logs) / max(len(logs) - 1, 1) / len(logs))
        of_settings = [mean(math.log(max(settings[index], least) / all_settings) for settings, all_settings in zip(peers, together))
                       for index in range(len(peers[0]))]
        self.limit = math.exp(max(0.0, *of_settings) + 4 * deviation)

    @property
    def is_met(self):
        return math.exp(self.log) <= self.limit

    def __str__(self):
        return f"{self.own:9.2e} {self.peer:9.2e} {math.exp(self.log):6.2f} {self.limit:6.2f} {'' if self.is_met else 'MISSED':6}"


def measured(subject, accelc, scratch):
    """By group of outputs: errors of ours by seed, and of the framework by seed and setting."""
    found = {}
    for seed in range(1 if subject.is_alone else SEEDS):
        folder = scratch / str(seed)
        folder.mkdir()
        model, inputs = subject.checkpoint(seed, folder / "model"), subject.inputs(seed)
        outputs = ours.Accelc(accelc, model, subject.case, folder).outputs(inputs)
        if subject.is_alone:
            truth, peers = ours.Accelc(accelc, model, subject.case, folder, "reference").outputs(inputs), [subject.stored("out.")]
        else:
            framework = frameworks.framework(model, subject.case)
            truth, peers = framework.in_float64(inputs), [framework.in_float32(inputs, setting) for setting in frameworks.SETTINGS]
        check(subject, seed, outputs, truth)
        own, theirs = errors(outputs, truth), [errors(peer, truth) for peer in peers]
        for name, error in own.items():
            found.setdefault(name, []).append((error, [peer[name] for peer in theirs]))
    return found


def check(subject, seed, outputs, truth):
    """Every golden output is compared, and truth is the function of the golden file."""
    if missing := set(subject.stored("out.")) & set(truth) - set(outputs):
        sys.exit(f"noise: {subject.name}: accelc gives no {', '.join(sorted(missing))}")
    if seed == 0 and not subject.has_outliers:
        stored = {name: tensor for name, tensor in subject.stored("ref64.").items() if name in truth}
        for name, (square, _) in errors(truth, stored).items():
            # Golden files have some steps of float32 in their float64.
            if not square < 1e-5:
                sys.exit(f"noise: {subject.name}: {name} of the framework is {square:.1e} from the golden file's")


def subjects(minilm):
    cases = [(golden, None) for root in ROOTS if root.exists() for golden in sorted(root.iterdir())
             if (golden / "case.json").exists() and "minilm" not in golden.name]
    cases += [(golden, minilm / "model") for golden in sorted(minilm.glob("golden_*"))]
    for golden, model in cases:
        yield Subject(golden, model)
        if model is None and not Subject(golden).is_alone:
            yield Subject(golden, has_outliers=True)


def main(accelc, minilm, *names):
    logs, missed = [], []
    print(f"{'case':34} {'output':20} {'RMS error':>9} {'torch':>9} {'ratio':>6} {'limit':>6} {'':6} {'largest':>9} {'torch':>9} {'ratio':>6} {'limit':>6}")
    for subject in subjects(pathlib.Path(minilm)):
        if names and subject.name not in names:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            for output, found in measured(subject, accelc, pathlib.Path(scratch)).items():
                squares, largest = (
                    Ratio([own[index] for own, _ in found], [[peer[index] for peer in peers] for _, peers in found]) for index in (0, 1))
                print(f"{subject.name:34} {output:20} {squares} {largest}", flush=True)
                logs.append(squares.log)
                if not (squares.is_met and largest.is_met):
                    missed.append(f"{subject.name} {output}")
    if not logs:
        sys.exit(f"noise: no case is called {', '.join(names)}")
    ratio = math.exp(mean(logs))
    print(f"all of {len(logs)} rows: our noise is {ratio:.2f} times the framework's (at most 1)")
    if missed or ratio > 1:
        sys.exit(f"noise: {len(missed)} rows are above their limit: {', '.join(missed)}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
