"""Mixes of GGUF's types against llama.cpp's quantizer.

usage: gguf_mixes.py ACCELC [FOLDER]      (wants gguf, torch, transformers, and llama.cpp, which scripts/bench/llama.sh builds; exits 3
with the command that installs them when one is missing)
For small models of several shapes and every mix: the types and the bytes of llama_model_quantize. Exits 1 on a difference.
"""

import pathlib
import sys
import tempfile

# The folder of this script has names of packages; the one of shared code has none.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared"), str(HERE.parent)] + [
    entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
try:
    import gguf
    import llama_mixes
    from checks import check, finish
    from gguf_models import export, made
    from llama_library import llama, silence
except ImportError as error:
    print(f"gguf_mixes: skipped, since {error.name} is missing: pip install gguf torch transformers (llama.cpp: scripts/bench/llama.sh)", file=sys.stderr)
    sys.exit(3)

WIDE = dict(hidden_size=256, intermediate_size=256, num_hidden_layers=9, vocab_size=67)
MIXED = {
    "llama": ("Llama", WIDE | dict(head_dim=64)),
    "llama, shared keys": ("Llama", WIDE | dict(head_dim=64, num_key_value_heads=1)),
    "llama, narrow": ("Llama", {}),
    "qwen3, tied": ("Qwen3", WIDE | dict(head_dim=64, tie_word_embeddings=True)),
    "phi3": ("Phi3", WIDE | dict(head_dim=64)),
    "gemma": ("Gemma", WIDE | dict(head_dim=64)),
    "gpt2": ("GPT2", dict(n_embd=256, n_inner=512, n_layer=4)),
}


def mixes(scratch):
    """The types that llama.cpp's quantizer chooses for a model in float32, and its bytes."""
    for index, (label, (kind, more)) in enumerate(MIXED.items()):
        source, plain, other = scratch / f"mixed{index}", scratch / f"mixed{index}-float32", scratch / "quantized.gguf"
        made(kind, more, source, seed=19)
        code, error = export(source, plain, "--compress", "float32")
        for mix, number in llama_mixes.MIXES.items():
            folder = scratch / f"mixed{index}-{mix}"
            code, error = export(source, folder, "--compress", mix)
            if code != 0:
                check(f"{label}, {mix}: {error}", False)
                continue
            own = gguf.GGUFReader(folder / "model.gguf")
            if mix in llama_mixes.WEIGHTED:
                kinds = llama_mixes.planned(llama, plain / "model.gguf", mix)
                silence()
                same = all(kinds[tensor.name] == tensor.tensor_type.name for tensor in own.tensors)
                check(f"{label}, {mix}: the types of llama.cpp", same)
                continue
            theirs = llama_mixes.quantized(llama, plain / "model.gguf", other, mix)
            left, right = ({tensor.name: (tensor.tensor_type.name, tensor.data.tobytes()) for tensor in reader.tensors}
                           for reader in (own, theirs))
            types = sum(left[name][0] == right[name][0] for name in right)
            blocks = sum(left[name] == right[name] for name in right)
            found = own.get_field("general.file_type").contents()
            good = left.keys() == right.keys() and types == blocks == len(right)
            # The mixes of a narrow model may have the same types.
            good = good and (found == number or "narrow" in label)
            check(f"{label}, {mix}: of {len(right)} tensors the types of llama.cpp in {types}, its bytes in {blocks}, file type {found}", good)


with tempfile.TemporaryDirectory() as folder:
    mixes(pathlib.Path(folder))
finish("gguf_mixes")
