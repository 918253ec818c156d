"""Makes Tests/Fixtures/adapters: LoRA adapters as peft saves them, with the weights that peft merges them to.

usage: fixtures_adapters.py [NAME...]        (wants peft, safetensors, torch, transformers)
`NAME/adapter_config.json` and `NAME/adapter_model.safetensors` are the adapter of the fixture model that `CASES` names, with random numbers;
`NAME/merged.safetensors` has the tensors of the model that `merge_and_unload` changes, under their names in the checkpoint, in float32,
without those of second layers.
`sum.safetensors` has those of the adapters `llama` and `second` together, with the weights 0.75 and -0.5: merged one after the other, each
with its scale times its weight. (`add_weighted_adapter` with `combination_type="cat"` leaves biases out, and scales the sum by the square
root of its rank if the first adapter is rank-stabilised.)
A change of a head that is tied to the word embeddings is merged into a copy of them, as the adapter computes: peft's merge changes both, and
warns of that.
"""

import json
import pathlib
import re
import sys
import tempfile

import peft
import safetensors.torch
import torch
import transformers

import fixtures

TARGET = fixtures.FIXTURES / "adapters"
LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# Of each adapter: the fixture model, its class, and the options of peft.
CASES = {
    "llama": ("llama_llama3", "LlamaForCausalLM", dict(
        r=3, lora_alpha=5, target_modules=LINEAR, use_rslora=True, rank_pattern={"q_proj": 2, "layers.0.mlp.up_proj": 4},
        alpha_pattern={"v_proj": 7, "model.layers.0.self_attn.o_proj": 2})),
    "head": ("llama_llama3", "LlamaForCausalLM", dict(r=2, lora_alpha=3, target_modules=["lm_head", "v_proj"])),
    "second": ("llama_llama3", "LlamaForCausalLM", dict(r=2, lora_alpha=3, target_modules=["q_proj", "v_proj"], lora_bias=True)),
    "bert": ("bert_base", "BertModel", dict(
        r=3, lora_alpha=4, target_modules=["query", "value", "word_embeddings"], modules_to_save=["pooler"], bias="all")),
    "bert_dora": ("bert_base", "BertModel", dict(
        r=2, lora_alpha=3, target_modules=["key", "position_embeddings"], use_dora=True)),
    "gpt2": ("gpt2_small", "GPT2LMHeadModel", dict(
        r=3, lora_alpha=4, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)),
    "gpt2_dora": ("gpt2_small", "GPT2LMHeadModel", dict(
        r=2, lora_alpha=4, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True, use_dora=True)),
    "whisper": ("whisper_small", "WhisperForConditionalGeneration", dict(
        r=2, lora_alpha=3, target_modules=["conv1", "conv2", "q_proj", "fc1"])),
    "vit": ("vit_tall", "ViTModel", dict(r=2, lora_alpha=3, target_modules=["projection"])),
    "vit_names": ("vit_tall", "ViTModel", dict(r=2, lora_alpha=3, target_modules=["q_proj", "o_proj", "fc1", "fc2"])),
    "vit_dora": ("vit_tall", "ViTModel", dict(r=2, lora_alpha=3, target_modules=["projection"], use_dora=True)),
}


def base(name, kind):
    """The fixture model in float32."""
    return getattr(transformers, kind).from_pretrained(fixtures.FIXTURES / name, dtype=torch.float32)


def untied(model):
    """The model with a head of its own, where it is tied to the word embeddings."""
    if getattr(model.config, "tie_word_embeddings", False) and model.get_output_embeddings() is not None:
        words = model.get_input_embeddings().weight.detach().clone()
        model.get_output_embeddings().weight = torch.nn.Parameter(words)
        model.config.tie_word_embeddings = False
    return model


def adapted(model, name, options):
    """The model with an adapter whose parameters are random."""
    result = peft.get_peft_model(model, peft.LoraConfig(**options), adapter_name=name)
    generator = torch.Generator().manual_seed(sum(name.encode()))
    for key, parameter in result.named_parameters():
        if f".{name}" not in key and not (parameter.requires_grad and key.endswith("bias")):
            continue
        noise = torch.randn(parameter.shape, generator=generator)
        if "magnitude" in key:
            parameter.data *= 1 + 0.2 * noise
        elif "modules_to_save" in key or "lora_" not in key:
            parameter.data += 0.1 * noise
        else:
            # In place: with ensure_weight_tying two layers share the numbers.
            parameter.data.copy_(0.3 * noise)
    return result


def renamed(key, stored):
    """The name in the checkpoint of a tensor of the model; None if the checkpoint has none."""
    endings = [name for name in stored if name == key or name.endswith(f".{key}") or key.endswith(f".{name}")]
    return min(endings, key=lambda name: abs(len(name) - len(key))) if endings else None


def changed(model, folder):
    """The tensors of a merged model that differ from the checkpoint's."""
    stored = safetensors.torch.load_file(folder / "model.safetensors")
    result = {}
    # As saved: transformers 5 has other names in memory than in the checkpoints of some models.
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        values = safetensors.torch.load_file(f"{scratch}/model.safetensors")
    for key, value in values.items():
        name = renamed(key, stored)
        if name is None:
            if key == "lm_head.weight":
                result[key] = value.detach().clone().contiguous()
            continue
        if not torch.equal(stored[name].float(), value):
            result[name] = value.detach().clone().contiguous()
    return result


def write(tensors, path):
    """Writes the tensors of first layers: the others have the same shapes."""
    safetensors.torch.save_file({name: value for name, value in tensors.items() if not re.search(r"\.1\.", name)}, path)
    path.chmod(0o644)


def main(wanted):
    for name, (folder, kind, options) in CASES.items():
        if wanted and name not in wanted:
            continue
        model = adapted(base(folder, kind), name, options)
        model.save_pretrained(TARGET / name)
        # The adapter's own folder: peft puts those that are not called "default" into one more.
        for file in (TARGET / name / name).iterdir():
            file.rename(TARGET / name / file.name)
        (TARGET / name / name).rmdir()
        (TARGET / name / "README.md").unlink(missing_ok=True)
        config = json.loads((TARGET / name / "adapter_config.json").read_text())
        config["base_model_name_or_path"] = folder
        (TARGET / name / "adapter_config.json").write_text(json.dumps(config, indent=1) + "\n")
        if "lm_head" in options["target_modules"]:
            model = peft.PeftModel.from_pretrained(untied(base(folder, kind)), TARGET / name)
        merged = changed(model.merge_and_unload(), fixtures.FIXTURES / folder)
        write(merged, TARGET / name / "merged.safetensors")
        (TARGET / name / "adapter_model.safetensors").chmod(0o644)
        print(name, sorted(merged))
    if wanted:
        return
    folder, kind, _ = CASES["llama"]
    model = peft.PeftModel.from_pretrained(base(folder, kind), TARGET / "llama", adapter_name="llama")
    model.load_adapter(TARGET / "second", adapter_name="second")
    for layer in model.modules():
        if isinstance(layer, peft.tuners.lora.LoraLayer):
            for name, weight in {"llama": 0.75, "second": -0.5}.items():
                if name in layer.scaling:
                    layer.scaling[name] *= weight
    merged = changed(model.merge_and_unload(adapter_names=["llama", "second"]), fixtures.FIXTURES / folder)
    write(merged, TARGET / "sum.safetensors")


if __name__ == "__main__":
    main(sys.argv[1:])
