"""Writes a llama checkpoint of one file as GGUF, its matrices in Q4_0, for llama.cpp. The vocabulary is made up: nothing is read or written as text."""

import json

import gguf
import numpy

BLOCK = 1 << 12  # rows at once
NAMES = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "gate_proj": "ffn_gate", "up_proj": "ffn_up",
         "down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
OUTER = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}


def renamed(name):
    if name in OUTER:
        return OUTER[name]
    _, _, layer, *_, role, _ = name.split(".")
    return f"blk.{layer}.{NAMES[role]}.weight"


def tensors(path):
    """Names and float32 arrays of a file of bfloat16."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
    header.pop("__metadata__", None)
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        bits = numpy.fromfile(path, numpy.uint16, (end - start) // 2, offset=8 + size + start)
        yield name, (bits.astype(numpy.uint32) << 16).view(numpy.float32).reshape(tensor["shape"])


def interleaved(rows, heads):
    """llama.cpp turns neighbours where the checkpoint turns halves of a head."""
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def write(path, folder):
    config = json.loads((folder / "config.json").read_text())
    heads, kv, words = config["num_attention_heads"], config["num_key_value_heads"], config["vocab_size"]
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(config["max_position_embeddings"])
    file.add_embedding_length(config["hidden_size"])
    file.add_block_count(config["num_hidden_layers"])
    file.add_feed_forward_length(config["intermediate_size"])
    file.add_head_count(heads)
    file.add_head_count_kv(kv)
    file.add_layer_norm_rms_eps(config["rms_norm_eps"])
    file.add_rope_freq_base(config["rope_theta"])
    file.add_vocab_size(words)
    file.add_tokenizer_model("none")
    for name, values in tensors(folder / "model.safetensors"):
        if values.ndim == 1:
            file.add_tensor(renamed(name), values)
            continue
        if "q_proj" in name or "k_proj" in name:
            values = interleaved(values, heads if "q_proj" in name else kv)
        kind = gguf.GGMLQuantizationType.Q4_0
        coded = numpy.concatenate([gguf.quants.quantize(values[row:row + BLOCK], kind) for row in range(0, len(values), BLOCK)])
        file.add_tensor(renamed(name), coded, raw_dtype=kind)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
