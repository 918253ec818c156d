"""Makes Tests/Fixtures/ctranslate2: what CTranslate2's converter writes of the fixtures.

usage: fixtures_ctranslate2.py        (wants ctranslate2, transformers, torch; the bytes depend on their versions only)
`NAME` holds the tokenizer with which the fixture NAME is converted. `digests.json` has for each fixture and type the SHA-256 digests of
the files, as `Loaded` of scripts/peers/ctranslate2.py makes them. `whisper_int8` is one whole model, to be read.
"""

import hashlib
import importlib.util
import json
import pathlib
import shutil
import tempfile

import fixtures

MODELS = [
    "bert_bfloat16", "bert_prefixed", "distilbert_model", "roberta_model", "xlmr_model", "gemma_early", "llama_bfloat16",
    "llama_llama3", "llama_linear_old", "mistral_window", "phi3_long", "qwen2_window", "qwen3_small", "whisper_small",
]
FILES = ["model.bin", "config.json", "vocabulary.json"]
TARGET = fixtures.FIXTURES / "ctranslate2"


def peer():
    path = pathlib.Path(__file__).resolve().parent / "peers/ctranslate2.py"
    spec = importlib.util.spec_from_file_location("ctranslate2_peer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    tool = peer()
    shutil.rmtree(TARGET, ignore_errors=True)
    digests = {}
    for name in MODELS:
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            tool.prepared(fixtures.FIXTURES / name, scratch / "source")
            kept = TARGET / name
            kept.mkdir(parents=True)
            for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
                if (scratch / "source" / file).exists():
                    shutil.copy(scratch / "source" / file, kept / file)
            for kind in tool.TYPES:
                tool.by_peer(scratch / "source", scratch / kind, kind)
                digests[f"{name} {kind}"] = {
                    file: hashlib.sha256((scratch / kind / file).read_bytes()).hexdigest() for file in FILES}
            if name == "whisper_small":
                shutil.copytree(scratch / "int8", TARGET / "whisper_int8")
    (TARGET / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")


if __name__ == "__main__":
    main()
