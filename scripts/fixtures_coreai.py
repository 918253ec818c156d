"""Makes Tests/Fixtures/coreai: a model that accelc writes, and what Apple's runtime gives for it.

usage: fixtures_coreai.py ACCELC      (wants coreai-core, numpy, safetensors)
`llama_int4.aimodel` is llama_bfloat16 in blocks of int4 with a prefill and a step, in float32; `llama_int4.golden.safetensors` has the logits of
two runs that share the states. A test exports the model again, and expects the same bytes: they are those that Apple's runtime has run.
"""

import asyncio
import pathlib
import shutil
import subprocess
import sys

import numpy
from coreai.authoring import AIModelAsset
from coreai.runtime import NDArray
from safetensors.numpy import load_file, save_file

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "Tests/Fixtures"
FOLDER = FIXTURES / "coreai"


async def run(model, tokens):
    async with AIModelAsset.load(model).executable() as loaded:
        step, prefill = sorted(loaded.function_names)
        states, made = None, {}
        for name, first, count in ((prefill, 0, 4), (step, 4, 1)):
            function = loaded.load_function(name)
            if states is None:
                shapes = {state: function.desc.state_descriptor(state).shape for state in function.desc.state_names}
                states = {state: NDArray(numpy.zeros(shape, numpy.float32)) for state, shape in shapes.items()}
            block = NDArray(tokens[:, first : first + count].astype(numpy.int32))
            found = await function({"input_ids": block, "position": NDArray(numpy.array([first], numpy.int32))}, state=states)
            made[f"out.{first}"] = numpy.ascontiguousarray(found["logits"].numpy())
        return made


def main(accelc):
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    model = FOLDER / "llama_int4.aimodel"
    shapes = [word for count in (4, 1) for word in ("--shape", f"batch=1,tokens={count},cache=6")]
    subprocess.run(
        [accelc, "export", FIXTURES / "llama_bfloat16", "--format", "coreai", "--precision", "float32", "--compress", "int4:block=32", *shapes,
         "--no-cache", "--quiet", "-o", model], check=True)
    tokens = load_file(FIXTURES / "llama_bfloat16/golden.safetensors")["in.input_ids"][:1, :5]
    save_file({"in.input_ids": tokens} | asyncio.run(run(model, tokens)), FOLDER / "llama_int4.golden.safetensors")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
