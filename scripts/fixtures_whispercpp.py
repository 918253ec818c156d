"""Makes Tests/Fixtures/whispercpp: a small Whisper of the proportions that whisper.cpp wants, and the file that its own converter writes.

usage: fixtures_whispercpp.py        (wants torch, transformers, safetensors, and the source package that scripts/bench/whisper.sh fetches)
`model` is the checkpoint, `ggml-model.bin` the output of convert-h5-to-ggml.py (float16). The mel filters that the converter wants are
those of transformers.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers

import fixtures

CONVERTER = next((pathlib.Path(__file__).resolve().parent.parent / ".build/whisper").glob("*/whisper.cpp/models/convert-h5-to-ggml.py"))
WORDS = ["a", "b", "Ġ", "Ġa", "Ċ", "x", "Ã", "©", "ab", "Ġab"]


def main():
    folder = fixtures.FIXTURES / "whispercpp"
    model = folder / "model"
    shutil.rmtree(folder, ignore_errors=True)
    model.mkdir(parents=True)
    torch.manual_seed(23)
    config = transformers.WhisperConfig(
        vocab_size=51, num_mel_bins=80, d_model=32, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=9, max_target_positions=12,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None)
    network = transformers.WhisperForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    network.save_pretrained(model)
    (model / "generation_config.json").unlink(missing_ok=True)
    (model / "vocab.json").write_text(json.dumps({word: index for index, word in enumerate(WORDS)}, ensure_ascii=False))
    with tempfile.TemporaryDirectory() as scratch:
        source, assets = pathlib.Path(scratch) / "model", pathlib.Path(scratch) / "whisper/assets"
        shutil.copytree(model, source)
        assets.mkdir(parents=True)
        (source / "added_tokens.json").write_text("{}")
        filters = transformers.WhisperFeatureExtractor(feature_size=80).mel_filters.T.astype(numpy.float32)
        numpy.savez(assets / "mel_filters.npz", mel_80=filters)
        subprocess.run([sys.executable, CONVERTER, source, scratch, folder], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
