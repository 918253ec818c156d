"""Makes Tests/Fixtures/released/*.json: real configurations of the Hub, with the names and shapes of their tensors and no data.

usage: fixtures_released.py CORPUS [NAME...]     (default: all; wants torch and transformers)
CORPUS is the folder of a collection of real configurations (`configs.json`), whose script `run.py` knows the tensors of each checkpoint.
Each file has `config` (config.json), `files` (small files beside it) and `tensors`, one line for each name: the name, the type and the shape.
A star is the number of a layer; the number of layers is the last word. `folders` has the tensors in folders beside the weights.
`rejected` is the reason by which the model has to be rejected.
"""

import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "released"
# name in the corpus: words of the reason why it is rejected; none if it is accepted
MODELS = {
    "mistralai/Devstral-Small-2507": None,
    "ibm-granite/granite-code (llama)": None,
    "meta-llama/Llama-2-7b-chat-hf": None,
    "cognitivecomputations/Wizard-Vicuna-30B-Uncensored": None,
    "mlc smollm2_360m": None,
    "meta-llama/Llama-3.1-70B": None,
    "NousResearch/Yarn-Mistral-7b-128k": None,
    "Qwen/Qwen2-7B": None,
    "NovaSearch/stella_en_1.5B_v5": None,
    "Qwen/Qwen3-0.6B": None,
    "microsoft/Phi-3.5-mini-instruct": None,
    "microsoft/Phi-4-mini-instruct [remembered]": None,
    "google/gemma-7b [remembered]": None,
    "google/gemma-3-270m [remembered]": None,
    "google/embeddinggemma-300m [remembered]": None,
    "gpt2 (4.51)": None,
    "moka-ai/m3e-small": None,
    "intfloat/multilingual-e5-large-instruct": None,
    "sentence-transformers/all-MiniLM-L6-v2": None,
    "sentence-transformers/LaBSE": None,
    "sentence-transformers/all-mpnet-base-v2": None,
    "sentence-transformers/distiluse-base-multilingual-cased-v1": None,
    "cross-encoder/ms-marco-MiniLM-L-6-v2 (4.55)": None,
    "cross-encoder/ms-marco-MiniLM-L-6-v2 (as SentenceTransformer)": None,
    "BAAI/bge-reranker-base (5.9)": None,
    "Xenova/distilbert-base-uncased-distilled-squad": None,
    "Xenova/Multilingual-MiniLM-L12-H384": None,
    "csarron/bert-base-uncased-squad-v1": None,
    "dslim/bert-base-NER": None,
    "nlptown/bert-base-multilingual-uncased-sentiment": None,
    "bert-base-cased": None,
    "tohoku-nlp/bert-base-japanese-v3": None,
    "roberta-base (4.31)": None,
    "jinaai/jina-embeddings-v2-small-en [remembered]": 'field architectures[0]: the architecture "JinaBertForMaskedLM" is not supported',
    "ibm-granite/granite-3.1-1b-a400m-instruct": 'models of type "granitemoe" are not supported',
    "facebook/nougat-small": 'models of type "vision-encoder-decoder" are not supported',
    "answerdotai/ModernBERT-base [remembered]": None,
    "lj1995/GPT-SoVITS chinese-hubert-base": None,
    "jonatasgrosman/wav2vec2-large-xlsr-53-english": None,
    "openai/clip-vit-large-patch14 (5.5)": None,
    "h94/IP-Adapter models/image_encoder": None,
    "stabilityai/stable-diffusion-2-1 text_encoder": None,
    "stabilityai/stable-diffusion-xl-base-1.0 text_encoder_2": None,
    "google/siglip-so400m-patch14-384": None,
    "google/vit-base-patch16-224-in21k": None,
    "openai/whisper-large-v2": None,
    "openai/whisper-large-v3-turbo (4.51)": None,
}
# Models with longer lists of labels would make large fixtures.
MOST_LABELS = 12


def compact(tensors):
    """The lines of tensors, (name -> (type, shape))."""
    layers = {}
    for name, (kind, shape) in tensors.items():
        pattern = re.sub(r"(^|\.)(\d+)(\.)", r"\1*\3", name, count=1)
        layers.setdefault((pattern, kind, tuple(shape)), []).append(name)
    lines = []
    for (pattern, kind, shape), names in layers.items():
        facts = f"{kind} {','.join(map(str, shape)) or '-'}"
        if len(names) > 1 and set(names) == {pattern.replace("*", str(i), 1) for i in range(len(names))}:
            lines.append(f"{pattern} {facts} {len(names)}")
        else:
            lines += [f"{name} {facts}" for name in names]
    return lines


def checked(config):
    """The configuration, if it is small."""
    for key in ("id2label", "label2id"):
        if len(config.get(key) or {}) > MOST_LABELS:
            raise SystemExit(f"{config.get('_name_or_path')}: {len(config[key])} labels; choose another model")
    return config


def dense(files):
    """The tensors of dense layers of sentence-transformers, by their folders."""
    layers = {path.split("/")[0]: config for path, config in files.items() if re.match(r"\d_Dense.*/config.json$", path)}
    return {
        folder: [f"linear.weight F32 {config['out_features']},{config['in_features']}"]
        + [f"linear.bias F32 {config['out_features']}"] * config.get("bias", True)
        for folder, config in layers.items()
    }


def make(corpus, name):
    run = __import__("run")
    entry = corpus[name]
    document = {"name": name, "config": checked(entry["config"]), "files": entry.get("side") or {}}
    is_known = entry["config"]["model_type"] in run.SUPPORTED
    document["tensors"] = compact(run.hub(name, entry["config"])) if is_known else ["weight F32 1"]
    document["folders"] = dense(document["files"])
    if MODELS[name]:
        document["rejected"] = MODELS[name]
    path = FOLDER / f"{run.slug(name)}.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return path.stat().st_size


def main(folder, names):
    sys.path.insert(0, folder)
    corpus = json.loads((pathlib.Path(folder) / "configs.json").read_text())
    FOLDER.mkdir(exist_ok=True)
    total = 0
    for name in names or MODELS:
        size = make(corpus, name)
        total += size
        print(f"{name:60} {size:8} bytes")
    print(f"{'all':60} {total:8} bytes")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
