"""Makes Tests/Fixtures/gguf_keys: a tiny GGUF file of each architecture, changes of its keys and tensors, and what libllama computes.

usage: fixtures_gguf_keys.py       (wants gguf, numpy, safetensors and llama.cpp, which scripts/bench/llama.sh builds)
cases.json lists the cases of scripts/peers/shared/gguf_cases.py that tests keep, and the keys of all cases, which scripts/peers/gguf_keys.py
compares with libllama.
"""

import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "peers" / "shared")]
import numpy  # noqa: E402
import safetensors.numpy  # noqa: E402
import gguf_cases  # noqa: E402
from llama_answers import answers  # noqa: E402

FOLDER = HERE.parent / "Tests" / "Fixtures" / "gguf_keys"


def whole(architecture, key):
    return key if key.startswith(gguf_cases.GLOBAL) else f"{architecture}.{key}"


def listed(case):
    """A case as JSON; tensors are lists of numbers."""
    architecture = case.architecture
    found = {"name": case.name, "architecture": architecture, "outcome": case.outcome, "tokens": case.tokens, "changes": case.changes}
    found["keys"] = {whole(architecture, key): value for key, value in (case.context | case.keys).items()}
    found["tensors"] = {name: tensor if tensor is None else {"shape": tensor.shape, "numbers": [round(float(x), 6) for x in tensor.ravel()]}
                        for name, tensor in case.tensors.items()}
    return found | ({} if case.layers is None else {"layers": case.layers})


def main():
    FOLDER.mkdir(exist_ok=True)
    every = gguf_cases.cases()
    kept = [case for case in every if case.kept]
    base = [gguf_cases.Case(architecture, "as it is", gguf_cases.READ) for architecture in gguf_cases.ARCHITECTURES]
    covered = {architecture: sorted({whole(architecture, key) for case in every if case.architecture == architecture for key in case.keys})
               for architecture in gguf_cases.ARCHITECTURES}
    with tempfile.TemporaryDirectory() as folder:
        scratch, jobs = pathlib.Path(folder), []
        for index, case in enumerate(base + kept):
            path = scratch / f"{index}.gguf"
            gguf_cases.write(case, path)
            jobs.append((path, case))
        found = answers(jobs, scratch)
        golden = {}
        for (path, case) in jobs:
            answer = found[str(path)]
            if answer is None or case.outcome == gguf_cases.REJECTED:
                assert case.outcome == gguf_cases.REJECTED, case.name
                continue
            for name, numbers in answer.items():
                golden[f"{case.name}.{name}"] = numpy.ascontiguousarray(numbers)
        for case in base:
            gguf_cases.write(case, FOLDER / f"{case.architecture}.gguf")
    safetensors.numpy.save_file(golden, FOLDER / "golden.safetensors")
    lines = ",\n".join(json.dumps(listed(case)) for case in kept)
    covering = ",\n".join(f"{json.dumps(name)}: {json.dumps(keys)}" for name, keys in covered.items())
    tokens = json.dumps(gguf_cases.tokens())
    (FOLDER / "cases.json").write_text(f'{{"tokens": {tokens},\n"covered": {{\n{covering}\n}},\n"cases": [\n{lines}\n]}}\n')


main()
