"""Exact palettes of float32 weights by accelc against kmeans1d, and of float16 weights against coremltools' clustering, in one run.

usage: kmeans_speed.py SPEED       (wants kmeans1d, numpy; coremltools for its line)
SPEED is the program that scripts/bench.sh builds: `SPEED palette BITS FILE TYPE` reads raw weights and prints processor seconds and the
squared error. Exits 1 when accelc is not 50 times as fast as kmeans1d, or its error differs.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

sys.path = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != pathlib.Path(__file__).resolve().parent]

import numpy


def ours(speed, bits, weights, kind):
    with tempfile.NamedTemporaryFile() as file:
        weights.tofile(file.name)
        seconds, error = subprocess.run([speed, "palette", str(bits), file.name, kind], check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(error)


def kmeans1d_line(speed, bits, count, random):
    import kmeans1d

    weights = random.standard_normal(count).astype(numpy.float32)
    seconds, error = ours(speed, bits, weights, "F32")
    points = weights.astype(numpy.float64)
    start = time.process_time()
    found = kmeans1d.cluster(points, 2**bits)
    theirs = time.process_time() - start
    entries = numpy.asarray(found.centroids)[numpy.asarray(found.clusters)].astype(numpy.float32).astype(numpy.float64)
    best = ((points - entries) ** 2).sum()
    good = theirs >= 50 * seconds and abs(error - best) <= 1e-9 * best
    print(f"palette, k={2**bits}, {count / 1e6:.2f} M F32: {seconds * 1e3:.0f} ms   kmeans1d {theirs:.2f} s   ratio {theirs / seconds:.0f} "
          f"  squared error {error / best - 1:+.1e} of theirs   >= 50   {'met' if good else 'MISSED'}", flush=True)
    return good


def core_ml_line(speed, bits, random):
    from coremltools.models.neural_network import quantization_utils

    weights = (random.standard_normal(1 << 24) * 0.02).astype(numpy.float16)
    seconds, _ = ours(speed, bits, weights, "F16")
    start = time.process_time()
    quantization_utils._get_kmeans_lookup_table_and_weight(bits, weights)
    theirs = time.process_time() - start
    print(f"palette, k={2**bits}, 16.8 M F16: {seconds * 1e3:.1f} ms   coremltools {theirs:.2f} s   ratio {theirs / seconds:.0f}", flush=True)


def main(speed):
    random = numpy.random.default_rng(1)
    good = [kmeans1d_line(speed, bits, 1 << 18, random) for bits in (4, 6, 8)]
    try:
        for bits in (4, 6, 8):
            core_ml_line(speed, bits, random)
    except ImportError as error:
        print(f"coremltools: skipped, since it cannot be imported ({error})")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
