"""Times calibrated compression, and takes its peak private memory, for several numbers of samples.

usage: calibration.py ACCELC MODEL TEXT [SCHEME...]
A line for each scheme (int4:block=32,method=gptq unless told) and number of samples of 256 tokens: seconds on the clock, seconds of
processors, peak private memory (Linux: anonymous pages, sampled), and the dB of the outputs. Exits 1 when a row misses its bar.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SCHEMES = ["int4:block=32,method=gptq"]
SAMPLES = [16, 32, 64]
LENGTH = 256
# Of the largest number of samples on two quiet cores of a server, and of every number of samples.
SECONDS, MEGABYTES = 60, 2000


def convert(accelc, model, text, scheme, samples):
    """Seconds on the clock, seconds of processors, peak private megabytes, and the summary."""
    with tempfile.TemporaryDirectory() as folder:
        command = [accelc, "convert", model, "--compress", scheme, "--calibrate", text, "--samples", str(samples),
                   "--sample-length", str(LENGTH), "--no-cache", "--json", "-o", f"{folder}/out.accelpkg"]
        before, start, peak = os.times(), time.perf_counter(), 0
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                peak = max(peak, int(status.partition("RssAnon:")[2].split()[0]) / 1024)
            except (OSError, IndexError):
                pass
            time.sleep(0.02)
        seconds, after = time.perf_counter() - start, os.times()
        if process.returncode:
            sys.exit(f"accelc convert failed with exit code {process.returncode}")
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return seconds, used, peak, json.loads(process.stdout.read())


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
