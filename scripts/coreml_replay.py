"""Runs a Core ML package on a Mac on what `accelc verify-record` bundled, and saves what it gives for `accelc verify-replay`.

usage: coreml_replay.py PACKAGE BUNDLE OUTPUTS.safetensors [all|cpu|gpu|ane]     (wants macOS, coremltools and safetensors)
"""

import json
import pathlib
import sys


def main(package, bundle, outputs, units="all"):
    if sys.platform != "darwin":
        sys.exit("coreml_replay: Core ML runs on Apple's systems only")
    import coremltools
    import numpy
    from safetensors.numpy import load_file, save_file

    unit = {"all": "ALL", "cpu": "CPU_ONLY", "gpu": "CPU_AND_GPU", "ane": "CPU_AND_NE"}[units]
    runs = json.loads((pathlib.Path(bundle) / "runs.json").read_text())["runs"]
    given = load_file(pathlib.Path(bundle) / "inputs.safetensors")
    several = len({run["function"] for run in runs}) > 1
    models, made, states = {}, {}, {}
    for number, run in enumerate(runs):
        function, sequence = run["function"], run["sequence"]
        if function not in models:
            names = {"function_name": function} if several else {}
            models[function] = coremltools.models.MLModel(package, compute_units=coremltools.ComputeUnit[unit], **names)
        model = models[function]
        inputs = {name: given[f"{number}.{name}"] for name in run["inputs"]}
        description = model.get_spec().description
        functions = [one for one in description.functions if one.name == function]
        if (functions[0] if functions else description).state:
            if sequence not in states:
                states[sequence] = model.make_state()
            found = model.predict(inputs, state=states[sequence])
        else:
            found = model.predict(inputs)
        for name in run["outputs"]:
            made[f"{number}.{name}"] = numpy.ascontiguousarray(found[name])
    save_file(made, outputs)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
