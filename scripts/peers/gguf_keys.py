"""Each key and each kind of tensor of GGUF files, as libllama and as accelc read it.

usage: gguf_keys.py ACCELC [FOLDER]      (wants gguf, numpy, safetensors, and llama.cpp, which scripts/bench/llama.sh builds; exits 3 with
the reason when one is missing)
For each tiny file of shared/gguf_cases.py: accelc's results are those of libllama, or accelc rejects the file and names the key or the
tensor. A neutral key changes no number of libllama. Cases that have to change libllama's numbers do so. Also, blocks of random bytes of
every type decode to the numbers of gguf-py. Exits 1 on a difference.
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared"), str(HERE.parent)] + [
    entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
try:
    import gguf
    import numpy
    import safetensors.numpy
    import gguf_cases
    from checks import accelc, apart, check, finish
    from gguf_cases import NEUTRAL, READ, REJECTED
    from llama_answers import answers
except ImportError as error:
    print(f"gguf_keys: skipped, since {error.name} is missing: pip install gguf safetensors numpy (llama.cpp: scripts/bench/llama.sh)", file=sys.stderr)
    sys.exit(3)

# How far plain files may be apart: 2e-6 was measured, and 5e-4 where ggml takes gelu from a table, or for BERT from another function.
EXACT, TABLE = 2e-5, 2e-3
# Deep models of random weights amplify rounding: 2e-3 was measured.
DEEP = 5e-2
# What a key changes at least, where it has to.
CHANGE = 1e-2


def own(path, case, scratch):
    """The outputs of accelc's runtime by name, or its status and error."""
    package, inputs, outputs = scratch / "p.accelpkg", scratch / "in.safetensors", scratch / "out.safetensors"
    count, isEncoder = case.tokens, case.architecture == "bert"
    shape = f"batch=1,sequence={count}" if isEncoder else f"batch=1,tokens={count},cache={count}"
    subprocess.run(["rm", "-rf", package])
    code, error = accelc("convert", path, "--compress", "float32", "--shape", shape, "--no-cache", "-o", package)
    if code != 0:
        return code, error
    tokens = numpy.array([gguf_cases.tokens(count)])
    tensors = {"input_ids": tokens, "position": numpy.array([0])}
    if isEncoder:
        tensors = {"input_ids": tokens, "attention_mask": numpy.ones_like(tokens), "token_type_ids": numpy.zeros_like(tokens)}
    safetensors.numpy.save_file(tensors, inputs)
    code, error = accelc("run", package, "--inputs", inputs, "--outputs", outputs)
    return (code, error) if code != 0 else (0, safetensors.numpy.load_file(outputs))


def compared(case, outputs, theirs):
    """The distance of accelc's results from libllama's."""
    name = "last_hidden_state" if case.architecture == "bert" else "logits"
    distance = apart(outputs[name][0], theirs["rows"])
    if "pooled" in theirs:
        # Programs of llama.cpp normalise what its library pools.
        _, normalizes = case.keys.get("accelc.normalize_embeddings", (None, True))
        wanted = theirs["pooled"] / (numpy.linalg.norm(theirs["pooled"]) if normalizes else 1)
        distance = max(distance, apart(outputs["sentence_embedding"][0], wanted))
    return distance


def judge(case, path, base, theirs, scratch):
    code, result = own(path, case, scratch)
    if theirs is not None and case.changes:
        change = apart(theirs["rows"], base["rows"])
        if change < CHANGE:
            return check(f"{case.name}: libllama's numbers are {change:.1e} apart, and have to differ", False)
    if case.outcome == REJECTED:
        # A bias that the family lacks is named as in checkpoints.
        named = [*case.keys, *case.tensors] + (["o_proj.bias"] if "blk.0.attn_output.bias" in case.tensors else [])
        says = code in (3, 4) and str(path if theirs is None else path.parent) in str(result) and (
            theirs is None or any(name in str(result) for name in named))
        return check(f"{case.name}: rejected{'' if theirs is not None else ' by both'}" + ("" if says else f", but {result if code else 'it is read'}"), says)
    if theirs is None:
        return check(f"{case.name}: libllama does not read the file, and accelc is to", False)
    if code != 0:
        return check(f"{case.name}: {result}", False)
    if case.outcome == NEUTRAL and not all((theirs[name] == base[name]).all() for name in theirs):
        return check(f"{case.name}: it changes libllama's numbers by {apart(theirs['rows'], base['rows']):.1e}", False)
    limit = DEEP if case.layers else TABLE if case.architecture in gguf_cases.TABLED else EXACT
    distance = compared(case, result, theirs)
    check(f"{case.name}: {case.outcome}, {distance:.1e} apart", distance < limit)


def keys(scratch):
    base = [gguf_cases.Case(architecture, "as it is", READ) for architecture in gguf_cases.ARCHITECTURES]
    cases = base + gguf_cases.cases() + gguf_cases.named_layers()
    jobs, bases = [], {}
    for index, case in enumerate(cases):
        path, kind = scratch / f"{index}.gguf", (case.architecture, case.tokens, str(case.context))
        gguf_cases.write(case, path)
        jobs.append((path, case))
        if kind not in bases:
            bases[kind] = scratch / f"{index}-base.gguf"
            gguf_cases.write(case, bases[kind], plain=True)
            jobs.append((bases[kind], case))
    found = answers(jobs, scratch)
    for index, case in enumerate(cases):
        path, base = scratch / f"{index}.gguf", bases[case.architecture, case.tokens, str(case.context)]
        judge(case, path, found[str(base)], found[str(path)], scratch)
    outcomes = [case.outcome for case in cases]
    print(f"  {len(cases)} files: {outcomes.count(READ)} read, {outcomes.count(NEUTRAL)} neutral, {outcomes.count(REJECTED)} rejected")


def types(scratch):
    """Random bytes as blocks: accelc decodes them to the numbers of gguf-py."""
    random = numpy.random.default_rng(43)
    for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items():
        if elements == 1:
            continue
        columns, rows = 256 if elements <= 256 else elements, gguf_cases.WORDS
        path, plain = scratch / f"{kind.name}.gguf", scratch / f"{kind.name}.safetensors"
        blocks = random.integers(0, 256, (rows, columns // elements * size), numpy.uint8)
        if kind.name == "MXFP4":
            # The scale 255 is no number by the specification of the type, and an error.
            blocks[:, ::size] = numpy.minimum(blocks[:, ::size], 254)
        try:
            numbers = gguf.dequantize(blocks, kind)
        except NotImplementedError:
            continue
        gguf_cases.write_wide(path, kind, blocks)
        code, error = accelc("decompress", path, "-o", plain)
        if code == 3:
            check(f"{kind.name}: rejected", kind.name in error and str(path) in error)
            continue
        found = safetensors.numpy.load_file(plain)["model.embed_tokens.weight"] if code == 0 else numpy.zeros(1)
        # Equal numbers have equal bits but for the sign of zeros, which gguf-py leaves out for MXFP4.
        same = found.shape == numbers.shape and ((found == numbers) | (numpy.isnan(found) & numpy.isnan(numbers))).mean()
        check(f"{kind.name}: {same:.6f} of the numbers are those of gguf-py {error}", same == 1)


with tempfile.TemporaryDirectory() as folder:
    keys(pathlib.Path(folder))
    types(pathlib.Path(folder))
finish("gguf_keys")
