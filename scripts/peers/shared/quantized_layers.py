"""Layers as other tools quantize them: their tensors, the configuration, and the weights that the tools give them back.

A maker takes a matrix of float32 [N, K] and returns the tensors by the ends of their names, the function by which the tool decodes such
tensors to a weight in float32, and the metadata of the file about the tensor. GPTQ and AWQ, whose libraries want a GPU, are packed and decoded by the definition of their formats.
"""

import json

import numpy
import torch

GENERATOR = numpy.random.default_rng(20)


def stream(codes, bits):
    """Words of 32 bits with the codes of each row, lowest bits first."""
    rows, count = codes.shape
    flat = (codes[..., None] >> numpy.arange(bits) & 1).reshape(rows, count * bits).astype(numpy.uint8)
    flat = numpy.pad(flat, ((0, 0), (0, -flat.shape[1] % 32)))
    return numpy.packbits(flat, axis=1, bitorder="little").view(numpy.int32)


def unstream(words, bits, count):
    """The codes of each row of words."""
    flat = numpy.unpackbits(numpy.ascontiguousarray(words).view(numpy.uint8), axis=1, bitorder="little")[:, :count * bits]
    return (flat.reshape(len(words), count, bits).astype(numpy.int64) << numpy.arange(bits)).sum(-1)


def tensor(array):
    return torch.from_numpy(numpy.ascontiguousarray(array))


def tiled(scales, height, width, rows, columns):
    return scales.repeat_interleave(height, 0)[:rows].repeat_interleave(width, 1)[:, :columns]


def gptq(bits, group, version=1, order=False, symmetric=False):
    def make(weight):
        rows, columns = weight.shape
        size = columns if group == -1 else group
        groups, top = -(-columns // size), (1 << bits) - 1
        codes = GENERATOR.integers(0, top + 1, (rows, columns))
        zeros = numpy.full((groups, rows), 1 << bits - 1) if symmetric else GENERATOR.integers(1, top + 1, (groups, rows))
        scales = torch.from_numpy(GENERATOR.uniform(0.001, 0.02, (groups, rows))).half()
        indices = numpy.arange(columns) // size
        indices = GENERATOR.permutation(indices) if order else indices
        parts = {
            ".qweight": tensor(stream(codes, bits).T), ".qzeros": tensor(stream(zeros - (version == 1), bits)), ".scales": scales,
            ".g_idx": tensor(indices.astype(numpy.int32)),
        }

        def decode(parts):
            order = parts[".g_idx"].numpy()
            own = unstream(parts[".qweight"].numpy().T, bits, columns)
            grid = unstream(parts[".qzeros"].numpy(), bits, rows) + (version == 1)
            return tensor((parts[".scales"].float().numpy()[order].T * (own - grid[order].T).astype(numpy.float32)).astype(numpy.float32))

        return parts, decode, None

    return make, {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": order, "sym": symmetric} | (
        {"checkpoint_format": "gptq_v2"} if version == 2 else {})


def awq(group, symmetric=False):
    def make(weight):
        rows, columns = weight.shape
        size = columns if group == -1 else group
        codes = GENERATOR.integers(0, 16, (rows, columns))
        zeros = numpy.full((columns // size, rows), 8) if symmetric else GENERATOR.integers(0, 16, (columns // size, rows))
        scales = torch.from_numpy(GENERATOR.uniform(0.001, 0.02, (columns // size, rows))).half()

        def pack(matrix):
            return tensor(stream(matrix.reshape(len(matrix), -1, 8)[..., [0, 2, 4, 6, 1, 3, 5, 7]].reshape(len(matrix), -1), 4))

        def unpack(words):
            shuffled = unstream(words.numpy(), 4, words.shape[1] * 8).reshape(len(words), -1, 8)
            return shuffled[..., [0, 4, 1, 5, 2, 6, 3, 7]].reshape(len(words), -1)

        def decode(parts):
            own, grid = unpack(parts[".qweight"]).T, unpack(parts[".qzeros"]).repeat(size, 0).T
            return tensor((parts[".scales"].float().numpy().repeat(size, 0).T * (own - grid)).astype(numpy.float32))

        return {".qweight": pack(codes.T), ".qzeros": pack(zeros), ".scales": scales}, decode, None

    return make, {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm", "zero_point": not symmetric}


def compressed(kind, dtype=torch.float32, **arguments):
    """A format of compressed-tensors: the weight is what its compressor gives back, for its own reading of the configuration."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationConfig
    from compressed_tensors.quantization.utils import calculate_qparams

    document = {
        "quant_method": "compressed-tensors", "format": kind, "quantization_status": "compressed",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": arguments}}, "ignore": ["lm_head"],
    }
    scheme = QuantizationConfig.model_validate(document).config_groups["group_0"]
    weights = scheme.weights
    compressor = BaseCompressor.get_value_from_registry(kind)

    def make(weight):
        rows, columns = weight.shape
        height, width = {
            "tensor": (rows, columns), "channel": (1, columns), "group": (1, weights.group_size), "tensor_group": (1, weights.group_size),
            "block": tuple(weights.block_structure or (1, 1)),
        }[weights.strategy]
        down, across = -(-rows // height), -(-columns // width)
        padded = torch.zeros(down * height, across * width)
        padded[:rows, :columns] = weight
        blocks = padded.reshape(down, height, across, width)
        low, high = blocks.amin((1, 3)), blocks.amax((1, 3))
        state = {"weight": weight.to(dtype)}
        if kind == "nvfp4-pack-quantized":
            whole = 2688 / weight.abs().max()
            state["weight_global_scale"] = whole.reshape(1)
            scales, zeros = calculate_qparams(low, high, weights, global_scale=whole.reshape(1))
        else:
            scales, zeros = calculate_qparams(low.to(dtype), high.to(dtype), weights)
        state["weight_scale"] = scales.reshape(1) if weights.strategy == "tensor" else scales
        if not weights.symmetric:
            state["weight_zero_point"] = zeros.reshape(1) if weights.strategy == "tensor" else zeros
        parts = compressor.compress(state, scheme)

        def decode(parts):
            return compressor.decompress({key[1:]: value.clone() for key, value in parts.items()}, scheme)["weight"].float()

        return {f".{key}": value for key, value in parts.items()}, decode, None

    return make, document


def float8(block, method="fp8"):
    """FP8 of transformers' class, whose own code decodes it with the block that its configuration reads."""
    from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight
    from transformers.utils.quantization_config import FineGrainedFP8Config

    document = {"quant_method": method, "activation_scheme": "dynamic", "weight_block_size": block}
    size = FineGrainedFP8Config.from_dict(dict(document)).weight_block_size

    def make(weight):
        rows, columns = weight.shape
        height, width = size or (rows, columns)
        shape = (-(-rows // height), -(-columns // width)) if size else ()
        scales = torch.from_numpy(GENERATOR.uniform(0.001, 0.01, shape)).float()
        codes = (weight * 100).to(torch.float8_e4m3fn)

        def decode(parts):
            return _dequantize_fp8_weight(parts[".weight"].clone(), parts[".weight_scale_inv"], size, torch.float32)

        return {".weight": codes, ".weight_scale_inv": scales}, decode, None

    return make, document


def torchao(config, scaled=False):
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict, unflatten_tensor_state_dict
    from torchao.quantization import quantize_

    def make(weight):
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        layer.weight.data = weight.clone()
        holder = torch.nn.Sequential()
        holder.add_module("x", layer)
        quantize_(holder, config)
        own = holder.x.weight
        if scaled:
            own.act_pre_scale = torch.from_numpy(GENERATOR.uniform(0.5, 2, weight.shape[1])).float()
        parts, metadata = flatten_tensor_state_dict({"x.weight": own.data if not scaled else own})

        def decode(parts):
            again = unflatten_tensor_state_dict({f"x{key}": value for key, value in parts.items()}, metadata)[0]["x.weight"]
            # The product with plain activations, column by column, has what `dequantize` leaves out.
            values = torch.nn.functional.linear(torch.eye(weight.shape[1]), again).T if scaled else again.dequantize()
            return values.detach().float().contiguous()

        return {key[1:]: value for key, value in parts.items()}, decode, metadata["x.weight"]

    return make, {"quant_method": "torchao", "quant_type": {"default": {"_type": type(config).__name__, "_version": 2, "_data": {}}}}


def quanto(kind):
    import optimum.quanto as library

    def make(weight):
        layer = torch.nn.Sequential(torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False))
        layer[0].weight.data = weight.clone()
        library.quantize(layer, weights=getattr(library, f"q{kind}"))
        library.freeze(layer)
        parts = {key[1:]: value.contiguous() for key, value in layer.state_dict().items() if "_scale" in key or "_data" in key}

        def decode(parts):
            layer.load_state_dict({f"0{key}": value for key, value in parts.items()}, strict=False)
            return layer[0].weight.dequantize().detach().float().contiguous()

        return parts, decode, None

    return make, {"quant_method": "quanto", "weights": kind, "activations": None}


def bitsandbytes(kind, block, nested):
    import bitsandbytes.functional as functional

    def make(weight):
        # The library decodes some matrices wrongly on a CPU, and flat tensors rightly.
        packed, state = functional.quantize_4bit(weight.reshape(-1), blocksize=block, quant_type=kind, compress_statistics=nested)
        state.shape = torch.Size(weight.shape)

        def decode(parts):
            own = functional.QuantState.from_dict(
                {key.removeprefix(".weight."): value for key, value in parts.items() if key != ".weight"}, device="cpu")
            own.shape = torch.Size([weight.numel()])
            return functional.dequantize_4bit(parts[".weight"], own).reshape(weight.shape).float()

        return {".weight": packed} | {f".weight.{key}": value for key, value in state.as_dict(packed=True).items()}, decode, None

    return make, {
        "quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": kind,
        "bnb_4bit_use_double_quant": nested, "bnb_4bit_compute_dtype": "float32", "bnb_4bit_quant_storage": "uint8",
        "llm_int8_threshold": 6.0, "llm_int8_skip_modules": None,
    }


def bitsandbytes8():
    import bitsandbytes.functional as functional

    def make(weight):
        codes, largest, _ = functional.int8_vectorwise_quant(weight.half())
        parts = {".weight": codes, ".SCB": largest, ".weight_format": torch.tensor(0, dtype=torch.uint8)}
        return parts, lambda parts: functional.int8_vectorwise_dequant(parts[".weight"], parts[".SCB"]).float(), None

    return make, {"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": True}


def hqq(bits, group, axis):
    from hqq.core.quantize import Quantizer

    def make(weight):
        codes, meta = Quantizer.quantize(
            weight, nbits=bits, group_size=group, axis=axis, optimize=False, device="cpu", compute_dtype=torch.float32)
        parts = {
            ".W_q": codes.contiguous(), ".scale": meta["scale"].contiguous(), ".zero": meta["zero"].contiguous(),
            ".nbits": torch.tensor(bits), ".axis": torch.tensor(axis), ".shape": torch.tensor(list(weight.shape)),
            ".group_size": torch.tensor(group),
        }

        def decode(parts):
            numbers = {"nbits": "nbits", "axis": "axis", "group_size": "group_size"}
            own = meta | {key: int(parts[f".{name}"]) for key, name in numbers.items()}
            own |= {"scale": parts[".scale"], "zero": parts[".zero"], "shape": torch.Size(parts[".shape"].tolist())}
            return Quantizer.dequantize(parts[".W_q"], own).float().contiguous()

        return parts, decode, None

    parameters = {"nbits": bits, "group_size": group, "axis": axis, "channel_wise": True, "optimize": True, "round_zero": False}
    return make, {
        "quant_method": "hqq", "skip_modules": ["lm_head"],
        "quant_config": {"weight_quant_params": parameters, "scale_quant_params": None, "zero_quant_params": None, "offload_meta": False}}


def mlx(bits, group, mode="affine"):
    import mlx.core as mx

    mx.set_default_device(mx.cpu)

    def make(weight):
        parts = mx.quantize(mx.array(weight.numpy()), group_size=group, bits=bits, mode=mode)
        names = [".weight", ".scales", ".biases"]

        def decode(parts):
            own = [mx.array(parts[name].numpy()) for name in names if name in parts]
            return torch.from_numpy(numpy.array(mx.dequantize(*own, group_size=group, bits=bits, mode=mode).astype(mx.float32)))

        return {name: torch.from_numpy(numpy.array(part)) for name, part in zip(names, parts)}, decode, None

    return make, {"bits": bits, "group_size": group} | ({} if mode == "affine" else {"mode": mode})


def flipped(value, is_lowest):
    """A tensor whose elements all have a bit flipped: the lowest one, or a high one of the fraction."""
    shape, kind, size = value.shape, value.dtype, value.element_size()
    data = numpy.frombuffer(bytearray(value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()), numpy.uint8).reshape(-1, size).copy()
    data[:, 0 if is_lowest else max(size - 2, 0)] ^= 1 if is_lowest else 16
    return torch.from_numpy(data.reshape(-1)).view(kind).reshape(shape)


def save(folder, model, make, document):
    """Saves a model with all its linear layers but the head quantized; returns the weights that the tool gives them, the tensors of a layer,
    and the function that decodes them."""
    from safetensors.torch import save_file

    expected, tensors, metadata = {}, {}, {"format": "pt"}
    for name, value in model.state_dict().items():
        if name.endswith("_proj.weight"):
            layer = name.removesuffix(".weight")
            parts, decode, about = make(value.float())
            expected[name] = decode(parts)
            tensors |= {layer + end: part.contiguous().clone() for end, part in parts.items()}
            if about:
                metadata[name] = about
        elif name != "lm_head.weight" or not model.config.tie_word_embeddings:
            tensors[name] = value.contiguous().clone()
    if len(metadata) > 1:
        metadata["tensor_names"] = json.dumps(list(expected))
    folder.mkdir(exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata=metadata)
    configuration = model.config.to_dict()
    key = "quantization_config" if "quant_method" in document else "quantization"
    configuration[key] = document
    (folder / "config.json").write_text(json.dumps(configuration))
    return expected, (f"{layer}.weight", parts, decode)


def resave(folder, name, parts):
    """Writes the file with other tensors of a layer."""
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    tensors = load_file(path)
    tensors |= {name.removesuffix(".weight") + end: part.contiguous() for end, part in parts.items()}
    save_file(tensors, path, metadata=metadata)
