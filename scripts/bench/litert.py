"""Makes a model of the bench of runs for LiteRT, in float32 and with int8 weights whose products round each row of their input to int8
(dynamic range), and compares both outputs with torch's.

usage: litert.py FOLDER MODEL BATCH     makes FOLDER/MODEL.BATCH.tflite and FOLDER/MODEL.BATCH.int8.tflite, unless they are there
Runs in the environment of litert.sh. Exits 1, and makes nothing, where the float32 model's output is not torch's.
"""

import pathlib
import sys

import models
import peer

LARGEST_ERROR = 1e-4  # relative, of the float32 model


def convert(path, network, given):
    import litert_torch
    litert_torch.convert(network, given).export(str(path))


def quantize(path, source):
    from ai_edge_quantizer import quantizer, recipe
    made = quantizer.Quantizer(str(source))
    made.load_quantization_recipe(recipe.dynamic_wi8_afp32())
    made.quantize().export_model(str(path), overwrite=True)


def error(path, given, expected):
    """The output's distance from torch's, relative to the latter."""
    return peer.distance(peer.interpreted(path, [tensor.numpy() for tensor in given])(), expected)


def main(folder, name, batch):
    folder = pathlib.Path(folder)
    plain, int8 = (folder / f"{name}.{batch}{suffix}.tflite" for suffix in ("", ".int8"))
    if plain.exists() and int8.exists():
        return
    import torch
    network, given = models.network(folder, name).eval(), tuple(models.inputs(name, int(batch)).values())
    with torch.inference_mode():
        expected = network(*given).numpy()
    partial = [path.with_name(f"partial.{path.name}") for path in (plain, int8)]
    convert(partial[0], network, given)
    quantize(partial[1], partial[0])
    errors = [error(path, given, expected) for path in partial]
    if not errors[0] <= LARGEST_ERROR:
        sys.exit(f"the float32 model's output has a relative error of {errors[0]:.1e} against torch's")
    for path, whole in zip(partial, (plain, int8)):
        path.rename(whole)
    print(f"{name}, batch {batch}, made for LiteRT: relative error against torch {errors[0]:.1e} in float32, {errors[1]:.1e} in int8", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
