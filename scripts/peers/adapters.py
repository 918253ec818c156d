"""Adapters merged by accelc and by peft: the distance of the weights from peft's `merge_and_unload`, in units of float32 noise.

usage: adapters.py ACCELC MINILM

Each case is a model of the fixtures with adapters of random numbers: LoRA, rank-stabilised, patterns, DoRA, kernels, embeddings,
transposed weights, several with weights. The unit of a weight is the last place of its largest element times the square root of
the terms of a sum: each product, sum and scale rounds once, here and there. `decompress` writes what accelc merged.
"""

import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
from safetensors.torch import load_file

warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import fixtures_adapters as adapters  # noqa: E402

if len(sys.argv) != 3:
    sys.exit(__doc__)
ACCELC = sys.argv[1]
LIMIT = 2.0
LINEAR = adapters.LINEAR
SHAPES = {
    "llama_llama3": "batch=1,tokens=4,cache=8", "bert_base": "batch=1,sequence=8", "gpt2_small": "batch=1,tokens=4,cache=8",
    "whisper_small": "batch=1,frames=26,tokens=1,cache=8", "vit_tall": "batch=1",
}
# Of each case: the model, its class, the weights of the adapters, and the options of each of them.
CASES = {
    "lora": ("llama_llama3", "LlamaForCausalLM", [1], [dict(r=4, lora_alpha=8, target_modules=LINEAR)]),
    "rank 16": ("llama_llama3", "LlamaForCausalLM", [1], [dict(r=16, lora_alpha=32, target_modules=LINEAR)]),
    "rslora": ("llama_llama3", "LlamaForCausalLM", [1], [dict(r=4, lora_alpha=8, target_modules=LINEAR, use_rslora=True)]),
    "patterns": ("llama_llama3", "LlamaForCausalLM", [1], [dict(
        r=4, lora_alpha=8, target_modules=LINEAR, rank_pattern={"q_proj": 2}, alpha_pattern={"v_proj": 3})]),
    "dora": ("llama_llama3", "LlamaForCausalLM", [1], [dict(r=4, lora_alpha=8, target_modules=LINEAR, use_dora=True)]),
    "embeddings": ("bert_base", "BertModel", [1], [dict(
        r=4, lora_alpha=8, target_modules=["query", "word_embeddings", "position_embeddings"])]),
    "transposed": ("gpt2_small", "GPT2LMHeadModel", [1], [dict(
        r=4, lora_alpha=8, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)]),
    "transposed dora": ("gpt2_small", "GPT2LMHeadModel", [1], [dict(
        r=4, lora_alpha=8, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True, use_dora=True)]),
    "kernels": ("whisper_small", "WhisperForConditionalGeneration", [1], [dict(
        r=4, lora_alpha=8, target_modules=["conv1", "conv2", "q_proj", "fc1"])]),
    "patches": ("vit_tall", "ViTModel", [1], [dict(r=4, lora_alpha=8, target_modules=["projection", "q_proj", "fc2"])]),
    "tied head": ("llama_llama3", "LlamaForCausalLM", [1], [dict(r=4, lora_alpha=8, target_modules=["lm_head", "q_proj"])]),
    "tied head dora": ("llama_llama3", "LlamaForCausalLM", [1], [dict(
        r=4, lora_alpha=8, target_modules=["lm_head", "q_proj"], use_dora=True)]),
    "tied head twice": ("llama_llama3", "LlamaForCausalLM", [0.5, -2], [
        dict(r=4, lora_alpha=8, target_modules=["lm_head"]), dict(r=2, lora_alpha=3, target_modules=["lm_head", "v_proj"])]),
    "both tied": ("llama_llama3", "LlamaForCausalLM", [1], [dict(r=4, lora_alpha=8, target_modules=["lm_head", "embed_tokens"])]),
    "tied together": ("llama_llama3", "LlamaForCausalLM", [1], [dict(
        r=4, lora_alpha=8, target_modules=["lm_head", "q_proj"], ensure_weight_tying=True)]),
    "tied head of GPT-2": ("gpt2_small", "GPT2LMHeadModel", [1], [dict(
        r=4, lora_alpha=8, target_modules=["c_attn", "lm_head"], fan_in_fan_out=True)]),
    "three with weights": ("llama_llama3", "LlamaForCausalLM", [0.75, -0.5, 2], [
        dict(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"]), dict(r=3, lora_alpha=5, target_modules=["q_proj", "up_proj"]),
        dict(r=2, lora_alpha=2, target_modules=["v_proj", "down_proj"], use_rslora=True)]),
}


def paths_of(folders):
    """The configurations of adapters."""
    return [folder / "adapter_config.json" for folder in folders]


def merged(folder, kind, weights, paths):
    """The tensors that peft merges, by their names in a checkpoint, in float32."""
    model = None
    for index, path in enumerate(paths):
        if model is None:
            # Into a tied model peft would merge the change of the head into the embeddings, too, which is not what the adapter computes.
            base, config = adapters.base(folder, kind), adapters.peft.PeftConfig.from_pretrained(path)
            if config.ensure_weight_tying or any("lm_head" in file.read_text() for file in paths_of(paths)):
                # The file has the factors of both layers; where the flag is set, peft finds the second one in a tied model only.
                if config.ensure_weight_tying:
                    config.target_modules = [*config.target_modules, "lm_head", "embed_tokens"]
                base, config.ensure_weight_tying = adapters.untied(base), False
            model = adapters.peft.PeftModel.from_pretrained(base, path, adapter_name="a0", config=config)
        else:
            model.load_adapter(path, adapter_name=f"a{index}")
    for layer in model.modules():
        if isinstance(layer, adapters.peft.tuners.lora.LoraLayer):
            for index, weight in enumerate(weights):
                if f"a{index}" in layer.scaling:
                    layer.scaling[f"a{index}"] *= weight
    names = [f"a{index}" for index in range(len(weights))]
    with tempfile.TemporaryDirectory() as scratch:
        model.merge_and_unload(adapter_names=names).save_pretrained(scratch)
        return load_file(f"{scratch}/model.safetensors")


failures = []
print(f"{'case':20} {'tensors':>8} {'changed':>8} {'largest distance':>17}   of {LIMIT} units")
for name, (folder, kind, weights, options) in CASES.items():
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for index, each in enumerate(options):
            adapter = adapters.adapted(adapters.base(folder, kind), f"{name}{index}".replace(" ", ""), each)
            adapter.save_pretrained(f"{scratch}/{index}")
            paths.append(next(pathlib.Path(f"{scratch}/{index}").glob("*/adapter_config.json")).parent)
        expected = merged(folder, kind, weights, paths)
        plain = load_file(adapters.fixtures.FIXTURES / folder / "model.safetensors")
        words = ["convert", adapters.fixtures.FIXTURES / folder, "--compress", "float32", "--no-cache", "-o", f"{scratch}/p.accelpkg"]
        if folder in SHAPES:
            words += ["--shape", SHAPES[folder]]
        for weight, path in zip(weights, paths):
            words += ["--adapter", f"{path}:{weight}" if weight != 1 else path]
        for arguments in (words, ["decompress", f"{scratch}/p.accelpkg", "-o", f"{scratch}/m.safetensors"]):
            done = subprocess.run([ACCELC, *map(str, arguments)], capture_output=True, text=True)
            if done.returncode:
                failures.append(name)
                print(f"{name:20} {done.stderr.strip()}")
                break
        if name in failures:
            continue
        found, largest, compared, changed = load_file(f"{scratch}/m.safetensors"), 0.0, 0, 0
        rank = sum(each["r"] for each in options)
        for key, value in found.items():
            match = adapters.renamed(key, expected)
            if match is None or expected[match].shape != value.shape:
                continue
            wanted = expected[match].float()
            before = adapters.renamed(key, plain)
            compared += 1
            if before is not None and torch.equal(plain[before].float(), wanted):
                distance = (value.float() - wanted).abs().max().item()
                if distance:
                    failures.append(f"{name}: {key} should be the model's own")
                continue
            changed += 1
            unit = wanted.abs().max().item() * 2.0**-23 * (rank + 1) ** 0.5
            largest = max(largest, (value.float() - wanted).abs().max().item() / unit)
        if not changed or largest > LIMIT:
            failures.append(name)
        print(f"{name:20} {compared:8} {changed:8} {largest:17.3f}")
if failures:
    sys.exit("failed: " + ", ".join(failures))
