"""Golden cases: what the original framework gives for some inputs, in float32 and in float64, and the noise between them.

A case is a folder: `golden.safetensors` holds `in.*`, `out.*` (float32) and `ref64.*` (the same forward in float64),
`case.json` the seed, the shapes and `fp32_noise` for each output. Used by fixtures.py, fixtures_encoders.py, fixtures_sentences.py,
minilm.py and train_digits.py.
"""

import copy
import json
import pathlib

import safetensors.torch
import torch

torch.set_num_threads(1)  # the sums of a matrix product must not depend on the machine's cores
torch.backends.mkldnn.enabled = False


def pooled(hidden, mask, mode="mean", normalise=True):
    """A sentence embedding as sentence-transformers makes it from the last hidden states."""
    if mode == "cls":
        vector = hidden[:, 0]
    elif mode == "mean":
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        vector = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    else:
        raise ValueError(f"no pooling is called {mode}")
    return torch.nn.functional.normalize(vector, p=2, dim=1) if normalise else vector


NAMES = (
    "last_hidden_state", "pooler_output", "logits", "start_logits", "end_logits", "prediction_logits", "seq_relationship_logits",
    "image_embeds", "text_embeds", "logits_per_image", "sentence_embedding")


def forward(model, inputs, pooling=None):
    """Every output of one forward, by the framework's names, in the framework's order."""
    with torch.no_grad():
        result = model(**inputs)
    outputs = {name: result[name] for name in NAMES if result.get(name) is not None}
    if pooling:
        outputs["sentence_embedding"] = pooled(result["last_hidden_state"], inputs["attention_mask"], **pooling)
    return outputs


def noise(outputs, references):
    """For each output the framework's own float32 error against float64."""
    return {
        name: {
            "max_abs_fp32_vs_64": (outputs[name].double() - references[name]).abs().max().item(),
            "ref_rms": references[name].square().mean().sqrt().item(),
        }
        for name in outputs
    }


def make_all(names, make):
    """Makes each fixture by `make`, which returns its bytes, and prints them."""
    total = 0
    for name in names:
        size = make(name)
        total += size
        print(f"{name:20} {size:8} bytes")
    print(f"{'all':20} {total:8} bytes")


def shapes(tensors):
    return {name: [str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in tensors.items()}


def tensors(folder):
    return safetensors.torch.load_file(pathlib.Path(folder) / "golden.safetensors")


def write(folder, model, inputs, pooling=None, extra=None, keep=None, **facts):
    """Runs `model` (float32) on `inputs` and writes the case.

    `keep` names the outputs to store (default: all), `extra` holds more tensors to store, by full name.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model = model.eval()
    outputs = forward(model, inputs, pooling)
    references = forward(copy.deepcopy(model).double(), inputs, pooling)
    if keep:
        outputs, references = ({name: made[name] for name in keep} for made in (outputs, references))
    stored = {f"in.{n}": t for n, t in inputs.items()}
    stored |= {f"out.{n}": t for n, t in outputs.items()}
    stored |= {f"ref64.{n}": t for n, t in references.items()}
    stored |= extra or {}
    safetensors.torch.save_file(
        {n: t.contiguous() for n, t in stored.items()}, folder / "golden.safetensors", metadata={"format": "pt"})
    case = {
        "family": "bert",
        "case": folder.name,
        **facts,
        "files": sorted({str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} - {"case.json"}),
        "fp32_noise": noise(outputs, references),
        "inputs": shapes(inputs),
        "outputs": shapes(outputs),
        "torch": torch.__version__,
    }
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    return case
