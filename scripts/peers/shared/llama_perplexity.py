"""llama.cpp's perplexity tool itself, which scripts/bench/llama.sh builds beside the library."""

import re
import subprocess

from llama_library import BINARIES

# The lines of its report, by the names that accelc verify reports the figures by, with the factor between them.
LINES = {
    "perplexity": (r"Mean PPL\(Q\) *: *([\d.]+)", 1),
    "original": (r"Mean PPL\(base\) *: *([\d.]+)", 1),
    "klDivergence": (r"Mean +KLD: *([\d.]+)", 1),
    "klDivergence99": (r"99\.0% +KLD: *([\d.]+)", 1),
    "klDivergenceMaximum": (r"Maximum KLD: *([\d.]+)", 1),
    "equalTopTokens": (r"Same top p: *([\d.]+)", 0.01),
}


def run(model, threads, *options):
    # A context in float32, as accelc computes: no flash attention, and a cache that is not rounded.
    command = [BINARIES / "llama-perplexity", "-m", model, "-c", 512, "-b", 512, "-t", threads, "-fa", "off", "-ctk", "f32", "-ctv", "f32"]
    done = subprocess.run([str(word) for word in [*command, *options]], capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"llama-perplexity ends with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout + done.stderr


def record(model, text, chunks, target, threads=2):
    """Writes the log probabilities of a model over chunks of 512 tokens of a text file, rounded to 16 bits as the tool does."""
    run(model, threads, "-f", text, "--chunks", chunks, "--kl-divergence-base", target)


def figures(model, recorded, threads=2):
    """The figures of a model beside recorded log probabilities."""
    printed = run(model, threads, "--kl-divergence", "--kl-divergence-base", recorded)
    found = {}
    for name, (pattern, factor) in LINES.items():
        match = re.search(pattern, printed)
        if not match:
            raise RuntimeError(f"llama-perplexity does not print {name}: {printed[-500:]}")
        found[name] = float(match[1]) * factor
    return found
