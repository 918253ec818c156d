"""Times one model in one library, in a process of its own: the best run after warming up, on two threads.

usage: peer.py LIBRARY FOLDER MODEL BATCH SECONDS     prints milliseconds      exit 3, with the reason: the library cannot run it here
FOLDER is what models.py made. Libraries: onnxruntime, onnxruntime-int8, torch, ctranslate2, ctranslate2-int8.
"""

import pathlib
import sys
import time

THREADS = 2


def onnxruntime(folder, model, inputs, suffix=""):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    session = onnxruntime.InferenceSession(folder / f"{model}{suffix}.onnx", options, providers=["CPUExecutionProvider"])
    wanted = {port.name for port in session.get_inputs()}
    given = {name: value for name, value in inputs.items() if name in wanted}
    return lambda: session.run(None, given)


def torch(folder, model, inputs):
    import torch
    import models
    torch.set_num_threads(THREADS)
    network = models.network(folder, model)
    given = [torch.from_numpy(inputs[port]) for port in models.inputs(model, 1)]

    def run():
        with torch.inference_mode():
            network(*given)
    return run


def ctranslate2(folder, model, inputs, compute="float32"):
    import ctranslate2
    options = dict(device="cpu", compute_type=compute, intra_threads=THREADS, inter_threads=1)
    if model == "minilm":
        encoder, ids = ctranslate2.Encoder(str(folder / f"{model}.ct2"), **options), inputs["input_ids"].tolist()
        return lambda: encoder.forward_batch(ids).last_hidden_state
    encoder = ctranslate2.models.Whisper(str(folder / f"{model}.ct2"), **options)
    features = ctranslate2.StorageView.from_array(inputs["input_features"])
    return lambda: encoder.encode(features)


LIBRARIES = {
    "onnxruntime": onnxruntime,
    "onnxruntime-int8": lambda *model: onnxruntime(*model, ".int8"),
    "torch": torch,
    "ctranslate2": ctranslate2,
    "ctranslate2-int8": lambda *model: ctranslate2(*model, "int8"),
}


def best(run, seconds):
    run(), run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def main(library, folder, model, batch, seconds):
    try:
        from safetensors.numpy import load_file
        folder = pathlib.Path(folder)
        run = LIBRARIES[library](folder, model, load_file(folder / f"{model}.{batch}.safetensors"))
    except ImportError as error:
        print(f"{error.name} is not in .build/peers-venv (scripts/peers.sh installs it)", file=sys.stderr)
        sys.exit(3)
    print(best(run, float(seconds)))


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
