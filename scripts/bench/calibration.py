"""Times calibrated compression, and takes its peak private memory, for several numbers of samples.

usage: calibration.py ACCELC MODEL TEXT [SCHEME...]
A line for each scheme (default: int4:block=32,method=gptq) and number of samples of 256 tokens: seconds on the clock, seconds of
processors, peak private memory (Linux: anonymous pages, sampled), and the dB of the outputs. Exits 1 when a row misses its bar.
"""

import json
import sys
import tempfile

from measured import measured

SCHEMES = ["int4:block=32,method=gptq"]
SAMPLES = [16, 32, 64]
LENGTH = 256
# Of the largest number of samples on two quiet cores of a server, and of every number of samples.
SECONDS, MEGABYTES = 60, 1113


def convert(accelc, model, text, scheme, samples):
    """Seconds on the clock, seconds of processors, peak private megabytes, and the summary."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, used, peak, printed = measured([
            accelc, "convert", model, "--compress", scheme, "--calibrate", text, "--samples", samples, "--sample-length", LENGTH, "--no-cache",
            "--quiet", "--json", "-o", f"{folder}/out.accelpkg"])
        return seconds, used, peak / 2**20, json.loads(printed)


def main(accelc, model, text, *schemes):
    slow = False
    for scheme in schemes or SCHEMES:
        for samples in SAMPLES:
            seconds, used, peak, summary = convert(accelc, model, text, scheme, samples)
            held = summary.get("held_out_sqnr")
            bars = [seconds <= SECONDS or samples < SAMPLES[-1], peak <= MEGABYTES]
            slow |= not all(bars)
            print(f"{scheme:32} {samples:3} samples   {seconds:6.1f} s   {used:6.1f} s of processors   {peak:5.0f} MB private   "
                  f"{summary['outputs_sqnr']:.2f} dB" + (f", {held:.2f} dB held out" if held else "")
                  + f"   <= {SECONDS} s with {SAMPLES[-1]}, <= {MEGABYTES} MB   {'met' if all(bars) else 'MISSED'}", flush=True)
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
