"""Small decoders by transformers, and their exports as GGUF."""

import torch
import transformers
from checks import accelc

SMALL = dict(
    hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96, vocab_size=47,
    head_dim=16, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def made(kind, more, folder, seed=7):
    torch.manual_seed(seed)
    stem = kind.removesuffix("Text")
    config = dict(n_embd=64, n_head=4, n_layer=3, n_positions=64, n_inner=128, vocab_size=47) if kind == "GPT2" else SMALL
    name = "GPT2LMHeadModel" if kind == "GPT2" else f"{stem}ForCausalLM"
    model = getattr(transformers, name)(getattr(transformers, f"{kind}Config")(**config | more)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model


def export(source, folder, *words):
    return accelc("export", source, "--format", "gguf", "-o", folder, "--no-cache", *words)
