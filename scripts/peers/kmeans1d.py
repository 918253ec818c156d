"""The palettes of accelc against kmeans1d, an exact one-dimensional k-means.

usage: kmeans1d.py ACCELC MINILM [--everything]       (wants kmeans1d, numpy, safetensors)
Converts MiniLM with palettes, decompresses to float32, and compares the squared error of each table's weights with
kmeans1d's optimum: equal to 1e-9. kmeans1d takes about a microsecond for each point and entry, so of each scheme evenly
spaced tables are compared unless --everything is given. Then thousands of short, odd rows, each with a table of its own: their clusters
have kmeans1d's squared error to 1e-12. Exits 1 on a difference.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

# The folder of this script has its own name first on the path.
sys.path = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != pathlib.Path(__file__).resolve().parent]

import kmeans1d
import numpy
from safetensors.numpy import load_file, save_file

SCHEMES = [(bits, group) for bits in (1, 2, 3, 4, 6, 8) for group in (None, 16)]
BUDGET = 2e7  # points times entries for each scheme: some 20 seconds
failures = 0


def palettized(accelc, model, bits, group, scratch):
    """The decompressed weights, by name."""
    scheme = f"palette:bits={bits}" + (f",group={group}" if group else "")
    package, weights = f"{scratch}/package.accelpkg", f"{scratch}/weights.safetensors"
    shutil.rmtree(package, ignore_errors=True)
    run = [accelc, "convert", str(model), "--shape", "batch=1,sequence=16", "--compress", scheme, "--no-cache", "--quiet"]
    subprocess.run([*run, "-o", package], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([accelc, "decompress", package, "-o", weights, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return scheme, load_file(weights)


def optimum(points, entries):
    """Least squared error of `points` with so many entries; 0 where they suffice."""
    values = numpy.unique(points)
    if len(values) <= entries:
        return 0.0
    result = kmeans1d.cluster(points, entries)
    return clustered_error(points, numpy.asarray(result.clusters))


def clustered_error(points, labels):
    """Squared error about the clusters' means, in float64 about each cluster's first point."""
    total = 0.0
    for label in numpy.unique(labels):
        cluster = points[labels == label]
        cluster = cluster - cluster[0]
        total += ((cluster - cluster.mean()) ** 2).sum()
    return total


def compare(what, error, best, tolerance):
    global failures
    if not abs(error - best) <= tolerance * best:
        failures += 1
        print(f"FAIL {what}: squared error {error!r}, kmeans1d {best!r}")


def check_minilm(accelc, minilm, everything, scratch):
    model = pathlib.Path(minilm) / "model"
    original = load_file(model / "model.safetensors")
    matrices = sorted(name for name, weight in original.items() if weight.ndim == 2 and weight.dtype == numpy.float32)
    totals = {}
    for bits, group in SCHEMES:
        scheme, stored = palettized(accelc, model, bits, group, scratch)
        tables = []
        for name in matrices:
            rows = original[name].shape[0]
            step = group or rows
            tables += [(name, start, min(start + step, rows)) for start in range(0, rows, step)]
        work = sum((end - start) * original[name].shape[1] for name, start, end in tables) * 2**bits
        kept = tables
        if not everything:
            # The largest first, so that it is among them.
            tables.sort(key=lambda table: -(table[2] - table[1]) * original[table[0]].shape[1])
            kept = [table for table in tables if (table[2] - table[1]) * original[table[0]].shape[1] * 2**bits <= 4 * BUDGET]
            kept = kept[:: max(1, round(work / BUDGET))]
        start_time = time.perf_counter()
        for name, start, end in kept:
            points = original[name][start:end].astype(numpy.float64).ravel()
            decoded = stored[name][start:end].astype(numpy.float64).ravel()
            compare(f"{scheme} {name}[{start}:{end}]", ((points - decoded) ** 2).sum(), optimum(points, 2**bits), 1e-9)
        totals[bits, group] = sum(
            ((original[name].astype(numpy.float64) - stored[name]) ** 2).sum() for name in matrices if name in stored)
        print(f"{scheme}: {len(kept)} of {len(tables)} tables compared in {time.perf_counter() - start_time:.0f} s", flush=True)
    for bits, group in SCHEMES:
        if group and not totals[bits, group] <= totals[bits, None]:
            global failures
            failures += 1
            print(f"FAIL {bits} bits: groups of {group} have more error than one table a tensor")


def odd_rows(count, columns):
    random = numpy.random.default_rng(1)
    kinds = [
        lambda: random.normal(size=columns),
        lambda: random.standard_cauchy(size=columns),
        lambda: random.integers(-9, 9, size=columns),
        lambda: random.choice([-1.0, 1.0], columns) * 2.0 ** random.integers(-12, 12, columns),
        lambda: random.normal(size=columns) * 1e-30,
        lambda: random.normal(size=columns) * 1e30,
        lambda: numpy.arange(columns) * 0.25,
        lambda: random.choice([-3.0, 1.0, 2.0], columns) + random.normal(size=columns) * 1e-3,
        lambda: numpy.where(random.random(columns) < 0.8, 0.0, random.normal(size=columns)),
    ]
    return numpy.array([kinds[row % len(kinds)]() for row in range(count)], dtype=numpy.float32)


def check_odd_rows(accelc, scratch):
    """A BERT that has the odd rows for its word embeddings."""
    fixture = pathlib.Path(__file__).resolve().parents[2] / "Tests/Fixtures/bert_base"
    model = pathlib.Path(scratch) / "odd"
    model.mkdir()
    configuration = json.loads((fixture / "config.json").read_text())
    weights = load_file(fixture / "model.safetensors")
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    rows = odd_rows(4000, weights[name].shape[1])
    weights[name] = rows
    configuration["vocab_size"] = len(rows)
    (model / "config.json").write_text(json.dumps(configuration))
    save_file(weights, model / "model.safetensors")
    for bits in (1, 2, 3, 4):
        scheme, stored = palettized(accelc, model, bits, 1, scratch)
        for row, (points, decoded) in enumerate(zip(rows.astype(numpy.float64), stored[name])):
            compare(f"{scheme} odd row {row}", clustered_error(points, decoded), optimum(points, 2**bits), 1e-12)
        print(f"{scheme}: {len(rows)} odd rows compared", flush=True)


def main(accelc, minilm, everything):
    with tempfile.TemporaryDirectory() as scratch:
        check_odd_rows(accelc, scratch)
        check_minilm(accelc, minilm, everything, scratch)
    print("equal" if failures == 0 else f"{failures} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--everything"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    main(*arguments, "--everything" in sys.argv)
