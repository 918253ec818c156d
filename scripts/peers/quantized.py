"""Checkpoints that other tools have quantized, decoded by accelc and by the tools themselves.

usage: quantized.py ACCELC [FOLDER]      (wants torch, safetensors, transformers; and compressed-tensors, torchao, optimum-quanto,
bitsandbytes, hqq, mlx: without one of them its schemes are skipped, by name)
A small Llama with every linear layer quantized, for each scheme in variations: the sizes of groups and blocks, their scales and zero
points, and sizes of matrices where numbers of scales coincide (as many blocks as rows, square matrices, ragged edges). `convert` and
`decompress` give accelc's weights; the tool gives its own, for its own reading of the configuration. Then each configuration is
changed, one field at a time, and has to be rejected, as has an unknown field; and each tensor of a layer, which changes the weight as in
the tool, or is rejected. Exits 1 on a difference.
"""

import copy
import json
import pathlib
import shutil
import sys
import tempfile
import warnings

# The folder of this script has names of packages; the one of shared code has none.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [str(HERE / "shared"), str(HERE.parent)] + [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != HERE]
warnings.filterwarnings("ignore")
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
try:
    import safetensors.torch
    import torch
    import transformers
    from checks import accelc, check, finish
    import quantized_layers as layers
except ImportError as error:
    print(f"quantized: skipped, since {error.name} is missing: pip install safetensors torch transformers", file=sys.stderr)
    sys.exit(3)

# The weights of a framework are rounded to float32 at other places of the formula: 1 or 2 units in the last place of the largest.
LIMIT = 2.0**-22
# compressed-tensors rounds products with scales of bfloat16, and the values of NVFP4, to bfloat16.
ROUNDED = ("pack bfloat16", "nvfp4")


def torchao_cases():
    from torchao.quantization import (
        Float8WeightOnlyConfig, Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerAxis, PerGroup, PerTensor)

    return [
        ("int8 rows", 64, 96, layers.torchao(Int8WeightOnlyConfig(version=2))),
        ("int8 tensor", 64, 96, layers.torchao(Int8WeightOnlyConfig(version=2, granularity=PerTensor()))),
        ("int8, act_pre_scale", 64, 96, layers.torchao(Int8WeightOnlyConfig(version=2), scaled=True)),
        ("float8 rows", 64, 96, layers.torchao(Float8WeightOnlyConfig())),
        ("int4 in bytes, groups", 64, 96, layers.torchao(IntxWeightOnlyConfig(
            weight_dtype=torch.int4, granularity=PerGroup(32)))),
        ("int8 in bytes, rows", 64, 96, layers.torchao(IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)))),
    ]


def compressed_cases():
    made, found = layers.compressed, []
    for bits in (2, 3, 4, 5, 6, 7, 8):
        for symmetric in (True, False):
            found.append((f"pack {bits} bits{'' if symmetric else ', zero points'}", 64, 96, made(
                "pack-quantized", num_bits=bits, strategy="group", group_size=32, symmetric=symmetric)))
    found += [
        ("pack rows", 64, 96, made("pack-quantized", num_bits=4, strategy="channel", symmetric=False)),
        ("pack tensor", 64, 96, made("pack-quantized", num_bits=4, strategy="tensor")),
        ("pack blocks of 8 x 8", 64, 128, made("pack-quantized", num_bits=4, strategy="block", block_structure=[8, 8])),
        ("pack bfloat16", 64, 96, made("pack-quantized", torch.bfloat16, num_bits=4, strategy="group", group_size=16)),
        ("int rows", 64, 96, made("int-quantized", num_bits=8, strategy="channel")),
        ("int rows, zero points", 64, 96, made("int-quantized", num_bits=8, strategy="channel", symmetric=False)),
        ("int tensor", 64, 96, made("int-quantized", num_bits=8, strategy="tensor")),
        ("int groups", 64, 96, made("int-quantized", num_bits=8, strategy="group", group_size=32)),
        ("int blocks of 8 x 8, as many as rows", 64, 128, made("int-quantized", num_bits=8, strategy="block", block_structure=[8, 8])),
        ("int blocks of 16 x 32", 64, 128, made("int-quantized", num_bits=8, strategy="block", block_structure=[16, 32])),
        ("int blocks of 1 x 32", 64, 128, made("int-quantized", num_bits=8, strategy="block", block_structure=[1, 32])),
        ("float rows", 64, 96, made("float-quantized", num_bits=8, type="float", strategy="channel")),
        ("float tensor", 64, 96, made("float-quantized", num_bits=8, type="float", strategy="tensor")),
    ]
    for height, width in ((128, 128), (96, 96), (64, 256), (256, 128), (8, 8), (1, 128)):
        found.append((f"float blocks of {height} x {width}", 256, 384, made(
            "float-quantized", num_bits=8, type="float", strategy="block", block_structure=[height, width])))
    return found + [
        ("nvfp4", 64, 96, made("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16)),
        ("mxfp4", 64, 96, made("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group", group_size=32)),
    ]


def float8_cases():
    blocks = ([128, 128], [96, 96], [64, 64], [192, 128], [256, 256], [1, 128], [32, 32], None)
    return [(f"blocks of {block}", 192, 288, layers.float8(block)) for block in blocks] + [
        ("blocks of [8, 8], as many as rows", 64, 128, layers.float8([8, 8]))]


# By the peer's package: what makes its cases (label, sizes of the model, maker with the configuration).
PEERS = {
    "compressed_tensors": compressed_cases, "torchao": torchao_cases, "transformers": float8_cases,
    "optimum.quanto": lambda: [(kind, 64, 96, layers.quanto(kind)) for kind in ("int8", "float8")],
    "bitsandbytes": lambda: [
        (f"{kind}, blocks of {block}{', nested' if nested else ''}", 64, 96, layers.bitsandbytes(kind, block, nested))
        for kind in ("nf4", "fp4") for block in (64, 128) for nested in (False, True)] + [("int8", 64, 96, layers.bitsandbytes8())],
    "hqq": lambda: [
        (f"{bits} bits, groups of {group}, axis {axis}", 64, 128, layers.hqq(bits, group, axis))
        for bits in (8, 4, 3, 2, 1) for group in (32, 64) for axis in (0, 1)],
    "mlx": lambda: [(f"{bits} bits in {group}", 128, 256, layers.mlx(bits, group)) for bits in (2, 3, 4, 5, 6, 8) for group in (32, 64)]
    + [(mode, 128, 256, layers.mlx(bits, group, mode)) for mode, bits, group in (("mxfp4", 4, 32), ("nvfp4", 4, 16), ("mxfp8", 8, 32))],
    "numpy": lambda: [
        (f"gptq {bits} bits, groups of {group}, version {version}{', in any order' if order else ''}", 64, 128,
         layers.gptq(bits, group, version, order, symmetric))
        for bits in (2, 3, 4, 8) for group, order, symmetric in ((32, False, False), (-1, False, True), (64, True, False))
        for version in (1, 2)] + [(f"awq, groups of {group}", 64, 128, layers.awq(group, symmetric))
                                  for group, symmetric in ((32, False), (64, True), (-1, False))],
}


def model(hidden, inner):
    torch.manual_seed(4)
    configuration = transformers.LlamaConfig(
        hidden_size=hidden, intermediate_size=inner, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, vocab_size=37,
        head_dim=hidden // 2, max_position_embeddings=32, tie_word_embeddings=False)
    made = transformers.LlamaForCausalLM(configuration).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.1 * torch.randn_like(parameter))
    return made


def decoded(folder):
    """Returns the weights that accelc reads, or its error."""
    package, plain = folder.parent / "p.accelpkg", folder.parent / "plain.safetensors"
    shutil.rmtree(package, ignore_errors=True)
    plain.unlink(missing_ok=True)
    for words in (
        ("convert", folder, "--compress", "float32", "--shape", "batch=1,tokens=1,cache=4", "--no-cache", "-o", package),
        ("decompress", package, "-o", plain),
    ):
        status, error = accelc(*words)
        if status:
            return status, error
    return 0, safetensors.torch.load_file(plain)


def contradictions(document):
    """Returns copies of a configuration with one field changed, each with the field's path."""
    found = [("unknown_field", document | {"unknown_field": 1}), ("adapter", document | {"adapter": {"name": "lora"}})]
    changed = {
        "bits": 5, "group_size": 48, "num_bits": 16, "weight_block_size": [48, 80], "strategy": "token", "nbits": 7, "axis": 2,
        "block_structure": [24, 40], "sym": True, "symmetric": None, "load_in_4bit": None, "bnb_4bit_quant_type": "int4",
        "bnb_4bit_use_double_quant": None, "quant_method": "quip", "zero_point": None, "weights": "int4", "checkpoint_format": "marlin",
        "format": "marlin-24", "type": None, "desc_act": None, "mode": "mxfp9",
    }

    def walk(node, path):
        for key, value in node.items():
            place = path + [key]
            if isinstance(value, dict):
                walk(value, place)
            if key not in changed or isinstance(value, dict) or value is None:
                continue
            other = changed[key] if changed[key] is not None else not value if isinstance(value, bool) else {"int": "float", "float": "int"}.get(value)
            if other is None or other == value:
                continue
            own = copy.deepcopy(document)
            target = own
            for step in path:
                target = target[step]
            target[key] = other
            found.append((".".join(place), own))

    walk(document, [])
    return found


# Cases whose tensors are changed one at a time, by words of their labels.
PARTS = ("act_pre_scale", "int8 rows", "in bytes, groups", "zero points", "8 x 8", "float rows", "96", "[96, 96]", "mxfp4", "nvfp4", "nested",
         "int8", "4 bits, groups of 64", "3 bits, groups of 32", "gptq 4 bits, groups of 64", "awq, groups of 32", "4 bits in 32")


def changes(label, folder, layer, parts, decode, is_rounded):
    """A change of each tensor of a layer is that of the tool's own weight, or is rejected."""
    for end, part in parts.items():
        for is_lowest in (True, False):
            changed = parts | {end: layers.flipped(part, is_lowest)}
            try:
                wanted = decode(changed)
            except Exception:
                wanted = None
            layers.resave(folder, layer, changed)
            status, found = decoded(folder)
            if status:
                good, what = status in (3, 4), f"rejected: status {status}"
            elif wanted is None or not wanted.isfinite().all():
                good, what = False, "accepted, and the tool rejects it or has other numbers than finite ones"
            else:
                distance = float((found[layer].double() - wanted.double()).abs().max() / wanted.abs().max())
                good, what = distance <= (2.0**-8 if is_rounded else LIMIT), f"weights {distance:.1e} apart"
            check(f"{label}: {end} with {'the lowest bits' if is_lowest else 'high bits'} flipped, {what}", good)
    layers.resave(folder, layer, parts)


# Changed fields that these files may have: an asymmetric search may find what a symmetric one does, columns may be in order.
FREE = [["gptq", "desc_act", True], ["awq", "zero_point", True]]

with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    for peer, cases in PEERS.items():
        try:
            __import__(peer)
            listed = cases()
        except ImportError as error:
            print(f"{peer}: skipped, since {error.name} is missing")
            continue
        tried = rejected = 0
        seen = set()
        for index, (label, hidden, inner, (make, document)) in enumerate(listed):
            folder = scratch / f"{peer}{index}"
            expected, (layer, parts, decode) = layers.save(folder, model(hidden, inner), make, document)
            status, found = decoded(folder)
            if status:
                check(f"{peer}, {label}: {found}", False)
                continue
            distance = max(
                (float((found[name].double() - value.double()).abs().max() / value.abs().max()), name)
                for name, value in expected.items())
            check(f"{peer}, {label}: weights {distance[0]:.1e} apart", distance[0] <= (2.0**-8 if label in ROUNDED else LIMIT))
            configuration = json.loads((folder / "config.json").read_text())
            key = "quantization_config" if "quant_method" in document else "quantization"
            for path, changed in contradictions(document):
                name, value = path.split(".")[-1], None
                for step in [*path.split(".")]:
                    value = (changed if value is None else value).get(step)
                identity = (peer, json.dumps(changed, sort_keys=True))
                if identity in seen or [document.get("quant_method"), name, value] in FREE:
                    continue
                seen.add(identity)
                (folder / "config.json").write_text(json.dumps(configuration | {key: changed}))
                status, error = accelc(
                    "convert", folder, "--compress", "float32", "--shape", "batch=1,tokens=1,cache=4", "--no-cache", "-o",
                    scratch / "p.accelpkg")
                tried += 1
                rejected += status in (3, 4)
                if status not in (3, 4):
                    check(f"{peer}, {label}: the field {path} = {value} is rejected, status {status} {error}", False)
            if any(word in label for word in PARTS):
                (folder / "config.json").write_text(json.dumps(configuration))
                changes(f"{peer}, {label}", folder, layer, parts, decode, label in ROUNDED)
        check(f"{peer}: {rejected} of {tried} changed configurations are rejected", rejected == tried)
finish("quantized")
