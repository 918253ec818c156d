"""Converts a model, and measures on a text what that costs it."""

import json
import math
import shutil
import subprocess
import typing

from measured import measured


class Row(typing.NamedTuple):
    bits: float
    original: float
    perplexity: float
    divergence: float

    @property
    def increase(self):
        """The logarithm of the perplexity less that of the original."""
        return math.log(self.perplexity / self.original)


class Judge:
    """`found` has the tool, the model, the texts, and the numbers of samples and chunks."""

    def __init__(self, found, scratch):
        self.tool, self.model, self.text, self.scratch = found.accelc, found.model, found.text, scratch
        self.samples = ["--calibrate", found.calibration, "--samples", found.samples, "--sample-length", found.length]
        self.chunks = found.chunks
        print(f"{'scheme':40} {'bits':>6} {'ppl':>8} {'ln +':>7} {'KL':>8} {'s':>6}")

    def run(self, *words):
        subprocess.run([str(word) for word in (self.tool, *words, "--quiet")], check=True)

    def row(self, label, model, *options, bar=None):
        """Converts `model`, and compares the package with the original on the text; prints the row."""
        package = self.scratch / "subject.accelpkg"
        seconds, _, _, printed = measured([self.tool, "convert", model, *options, "-o", package, "--no-cache", "--json", "--quiet"])
        verified = subprocess.run(
            [str(word) for word in (self.tool, "verify", package, "--against", self.model, "--only", "container", "--text", self.text,
                                    "--chunks", self.chunks, "--json", "--quiet")], capture_output=True, text=True)
        # A failure of the usual limits is a row, too.
        if verified.returncode not in (0, 1):
            raise RuntimeError(verified.stderr)
        quality = json.loads(verified.stdout)["quality"]
        row = Row(json.loads(printed)["bits_per_weight"], quality["perplexity"]["original"], quality["perplexity"]["value"],
                  quality["klDivergence"]["value"])
        judged = "" if bar is None else f"   <= {bar}   {'met' if row.increase <= bar else 'MISSED'}"
        print(f"{label:40} {row.bits:6.3f} {row.perplexity:8.3f} {row.increase:7.4f} {row.divergence:8.5f} {seconds:6.1f}{judged}", flush=True)
        shutil.rmtree(package)
        return row
