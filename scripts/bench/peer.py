"""Times one model in one library, in a process of its own: the best run after warming up, on two threads.

usage: peer.py LIBRARY FOLDER MODEL BATCH SECONDS OUTPUT    prints milliseconds     exit 3, with the reason: the library cannot run it here
FOLDER is what models.py and litert.py made; the output goes to OUTPUT, a safetensors file. Libraries: those of LIBRARIES below.
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
    return lambda: session.run(None, given)[0]


def torch(folder, model, inputs):
    import torch
    import models
    torch.set_num_threads(THREADS)
    network = models.network(folder, model)
    given = [torch.from_numpy(inputs[port]) for port in models.inputs(model, 1)]

    def run():
        with torch.inference_mode():
            return network(*given)
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


def interpreted(path, given):
    """A run of a .tflite file by XNNPACK, which is the interpreter's own choice."""
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model_path=str(path), num_threads=THREADS)
    interpreter.allocate_tensors()
    # Their names end in their numbers.
    ports, result = interpreter.get_input_details(), interpreter.get_output_details()[0]["index"]
    for port, values in zip(sorted(ports, key=lambda port: port["name"]), given):
        interpreter.set_tensor(port["index"], values.astype(port["dtype"]))

    def run():
        interpreter.invoke()
        return interpreter.get_tensor(result)
    return run


def litert(folder, model, inputs, suffix=""):
    import models
    given = [inputs[port] for port in models.inputs(model, 1)]
    return interpreted(folder / f"{model}.{len(given[0])}{suffix}.tflite", given)


LIBRARIES = {
    "onnxruntime": onnxruntime,
    "onnxruntime-int8": lambda *model: onnxruntime(*model, ".int8"),
    "onnxruntime-tuned": lambda *model: onnxruntime(*model, ".tuned"),
    "onnxruntime-tuned-int8": lambda *model: onnxruntime(*model, ".tuned.int8"),
    "torch": torch,
    "ctranslate2": ctranslate2,
    "ctranslate2-int8": lambda *model: ctranslate2(*model, "int8"),
    "litert": litert,
    "litert-int8": lambda *model: litert(*model, ".int8"),
}


def best(run, seconds):
    run(), run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def distance(output, expected):
    """The root mean square of the difference, relative to that of what is expected."""
    import numpy
    output, expected = (numpy.asarray(values, dtype=numpy.float64) for values in (output, expected))
    if output.size != expected.size:
        return float("inf")
    return float(numpy.sqrt(numpy.square(output.ravel() - expected.ravel()).mean() / numpy.square(expected).mean()))


def main(library, folder, model, batch, seconds, output):
    try:
        import numpy
        from safetensors.numpy import load_file, save_file
        folder = pathlib.Path(folder)
        run = LIBRARIES[library](folder, model, load_file(folder / f"{model}.{batch}.safetensors"))
    except ImportError as error:
        print(f"{error.name} is not installed (scripts/peers.sh does that)", file=sys.stderr)
        sys.exit(3)
    save_file({"y": numpy.ascontiguousarray(run(), dtype=numpy.float32)}, output)
    print(best(run, float(seconds)))


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
