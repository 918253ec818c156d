"""MiniLM converted, and exported to Core ML, with 4-bit palettes by accelc, against coremltools' time for the compression alone, in one run.

usage: coreml_speed.py ACCELC MINILM [ROUNDS]       (wants coremltools, numpy, safetensors)
coremltools gets the model's rank-2 weights in float16 as linear and gather operators; its time is that of `palettize_weights`.
accelc's time is that of the whole process: reading, compressing, compiling, writing. Prints wall time, and processor time
(which a busy machine does not stretch); exits 1 when accelc takes more than a twentieth of the wall time.
"""

import logging
import os
import pathlib
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
os.environ.setdefault("TQDM_DISABLE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # coremltools' small clusterings are slower on more: 20.8 s instead of 9.1 s

import coremltools as ct
import coremltools.optimize.coreml as cto
import numpy
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, types
from safetensors.numpy import load_file

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

from measured import measured  # noqa: E402  (the path above)

TARGET = 1 / 20
SCHEMES = {"per tensor": ("palette:bits=4", {}), "groups of 16": ("palette:bits=4,group=16", {"granularity": "per_grouped_channel", "group_size": 16})}


def core_ml_model(folder):
    """One operator for each rank-2 weight, so that coremltools sees exactly the tensors that accelc compresses."""
    weights = {n: w.astype(numpy.float16) for n, w in load_file(folder / "model.safetensors").items() if w.ndim == 2 and w.dtype == numpy.float32}
    widths = sorted({w.shape[1] for n, w in weights.items() if "embeddings" not in n})
    inputs = {f"x{width}": mb.placeholder((1, width), dtype=types.fp16) for width in widths} | {"indices": mb.placeholder((1,), dtype=types.int32)}
    program = Program()
    with Function(inputs, opset_version=ct.target.iOS18) as function:
        variables = function.inputs
        function.set_outputs([
            mb.gather(x=w, indices=variables["indices"], axis=0, name=n.replace(".", "_")) if "embeddings" in n
            else mb.linear(x=variables[f"x{w.shape[1]}"], weight=w, name=n.replace(".", "_"))
            for n, w in weights.items()])
    program.add_function("main", function)
    model = ct.convert(program, minimum_deployment_target=ct.target.iOS18, skip_model_load=True, compute_precision=ct.precision.FLOAT16)
    return model, len(weights), sum(w.size for w in weights.values())


def core_ml_figures(model, options):
    config = cto.OptimizationConfig(global_config=cto.OpPalettizerConfig(mode="kmeans", nbits=4, **options))
    start, work = time.perf_counter(), time.process_time()
    cto.palettize_weights(model, config)
    return time.perf_counter() - start, time.process_time() - work


COMMANDS = {"convert": ["convert"], "export": ["export", "--format", "coreml", "--target", "iOS18"]}


def accelc_figures(accelc, folder, scheme, command):
    """Wall seconds, processor seconds and peak private megabytes of one conversion or export that no cache helps."""
    with tempfile.TemporaryDirectory() as scratch:
        seconds, used, peak, _ = measured([
            accelc, *COMMANDS[command], folder, "--shape", "batch=1,sequence=128", "--compress", scheme, "--no-cache", "--quiet",
            "-o", f"{scratch}/minilm"])
        return seconds, used, peak / 2**20


def main(accelc, minilm, rounds=3):
    folder = pathlib.Path(minilm) / "model"
    model, count, size = core_ml_model(folder)
    print(f"{count} matrices, {size / 1e6:.2f} M weights, {os.cpu_count()} cores; best of {rounds}, taken in turns")
    slow = False
    for name, (scheme, options) in SCHEMES.items():
        theirs, ours = [], {command: [] for command in COMMANDS}
        for _ in range(rounds):
            theirs.append(core_ml_figures(model, options))
            for command, figures in ours.items():
                figures.append(accelc_figures(accelc, folder, scheme, command))
        their_seconds, their_work = min(theirs)
        for command, figures in ours.items():
            seconds, work, memory = min(figures)
            slow |= seconds > their_seconds * TARGET
            print(f"4 bits {name:13} coremltools {their_seconds:6.2f} s ({their_work:.2f} s of processor)   accelc {command} {seconds:.3f} s "
                  f"({work:.3f} s), peak private memory {memory:.0f} MB   ratio 1/{their_seconds / seconds:.1f}")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
