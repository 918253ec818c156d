"""Measures what each compression scheme costs each family of models, as the article Accuracy shows it.

usage: families_table.py        (after `swift build -c release --product accelc`; prints the table; wants no packages)
The models are those of Tests/Fixtures, and where there is a collection of larger cases beside the checkout, Silero's. Each is
converted by each scheme and run on the inputs of its golden file; a figure is the SQNR of its worst output against the
original framework's. A figure in parentheses is beyond the limit by which `accelc verify` passes.
"""

import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / ".build" / "release" / "accelc"
FOLDERS = [ROOT / "Tests" / "Fixtures", ROOT.parent / "shared" / "cases"]
SCHEMES = ["float32", "float16", "int8", "int4", "palette:bits=4,group=16"]
# The name of a family, and the models that show it.
FAMILIES = {
    "BERT": ["bert_base", "bert_seqcls", "digits"],
    "DistilBERT": ["distilbert_model", "distilbert_seqcls"],
    "RoBERTa": ["roberta_model", "roberta_mlm"],
    "XLM-R": ["xlmr_model", "xlmr_mlm"],
    "MPNet": ["mpnet_model", "mpnet_mlm"],
    "ModernBERT": ["modernbert_model", "modernbert_mlm"],
    "Llama": ["llama_llama3", "llama_linear_old"],
    "Mistral": ["mistral_window"],
    "Qwen 2": ["qwen2_window"],
    "Qwen 3": ["qwen3_small"],
    "Phi-3": ["phi3_partial", "phi3_long"],
    "Gemma": ["gemma_early"],
    "Gemma 3": ["gemma3_old"],
    "GPT-2": ["gpt2_small"],
    "Whisper": ["whisper_small"],
    "Moonshine": ["moonshine_small"],
    "wav2vec 2.0": ["wav2vec2_odd"],
    "HuBERT": ["hubert_stable"],
    "Parakeet": ["parakeet_ctc", "parakeet_encoder"],
    "SNAC": ["snac_chunks", "snac_windows"],
    "Kokoro": ["kokoro_small"],
    "Silero VAD": ["silero_vad_real"],
    "ViT": ["vit_tall", "vit_leftover"],
    "CLIP": ["clip_end", "cliptext_projected", "clipvision_plain"],
    "SigLIP": ["siglip_both", "siglip_headless"],
}


def worst(model, scheme):
    """The least SQNR of an output, as text."""
    golden = model / "golden.safetensors"
    run = lambda *words: subprocess.run([TOOL, *words, "--quiet"], capture_output=True, text=True)
    made = run("convert", model, "--shape-from", golden, "--compress", scheme, "-o", "p.accelpkg")
    if made.returncode != 0:
        raise SystemExit(f"{model.name}, {scheme}: {made.stderr}")
    verified = run("verify", "p.accelpkg", "--golden", golden, "--report", "report.json")
    if verified.returncode not in (0, 1):
        raise SystemExit(f"{model.name}, {scheme}: {verified.stderr}")
    outputs = [o for o in json.loads(pathlib.Path("report.json").read_text())["outputs"] if o["against"] == "golden"]
    figure = f"{min(float(o['metrics']['sqnr']) for o in outputs):.1f}"
    return figure if verified.returncode == 0 else f"({figure})"


def rows():
    for family, names in FAMILIES.items():
        for name in names:
            model = next((folder / name for folder in FOLDERS if (folder / name).is_dir()), None)
            if model:
                yield [family, f"`{name}`", *(worst(model, scheme) for scheme in SCHEMES)]


def table():
    head = ["family", "model", *(f"`{scheme}`" for scheme in SCHEMES)]
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        os.environ["ACCELC_CACHE"] = f"{folder}/cache"
        lines = [head, ["---"] * len(head), *rows()]
        os.chdir(before)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table())
