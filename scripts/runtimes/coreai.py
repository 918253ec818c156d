"""Runs a Core AI model by Apple's runtime, for `accelc verify --runtime coreai` (README.md)."""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import runner  # noqa: E402

# Of the name of an output where a state has its name: a Core AI function has each name once (`CoreMLModel.outputSuffix`).
SUFFIX = "_output"


def start(request):
    import importlib.metadata

    import numpy
    from coreai.authoring import AIModelAsset
    from coreai.runtime import NDArray

    def array(value):
        return NDArray(value.astype(numpy.int32) if value.dtype == numpy.int64 else numpy.ascontiguousarray(value))

    # Of the current sequence: states and outputs by name.
    memory = {"sequence": None}

    async def evaluate(run):
        if memory["sequence"] != run.sequence:
            memory.update(sequence=run.sequence, states={}, outputs={})
        states, outputs = memory["states"], memory["outputs"]
        async with AIModelAsset.load(request.model).executable() as loaded:
            function = loaded.load_function(run.function)
            inputs = {name: array(value) for name, value in run.inputs.items()}
            inputs |= {name: array(outputs[own]) for name, own in run.carried.items()}
            inputs = {name: inputs[name] for name in function.desc.input_names}
            own = {}
            for name in function.desc.state_names:
                descriptor = function.desc.state_descriptor(name)
                kind = numpy.dtype(str(descriptor.dtype))
                value = run.states[name] if name in run.states else states.get(name)
                own[name] = NDArray(numpy.zeros(descriptor.shape, kind) if value is None else value.astype(kind))
            found = await (function(inputs, state=own) if own else function(inputs))
            for name, value in own.items():
                states[name] = value.numpy().copy()
            results = {
                name.removesuffix(SUFFIX) if name.removesuffix(SUFFIX) in own else name: numpy.array(value.numpy())
                for name, value in found.items()}
        outputs.update(results)
        return results | {f"state.{name}": states[name] for name in run.changed_states if name in states}

    return f"coreai-core {importlib.metadata.version('coreai-core')}", lambda run: asyncio.run(evaluate(run))


if __name__ == "__main__":
    runner.serve("Core AI", "pip install coreai-core", start)
