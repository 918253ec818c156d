"""Makes Tests/Fixtures/characters: a tiny seeded wav2vec 2.0 with a CTC head and its vocabulary, and the texts that transformers finds in a sound.

usage: fixtures_characters.py        (wants numpy, torch and transformers)
texts.json has the text of the first second of the sound, which is one window, and that of the whole sound in windows of a second: a sixth at
both sides of a window is for the frames in its middle. The characters are those of transformers' model, feature extractor and tokenizer.
"""

import json
import pathlib
import wave

import numpy
import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "characters"
RATE, HOP, WINDOW = 16000, 320, 16000
VOCABULARY = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"]


def sound():
    """2.7 seconds of changing tones with a pause, in 16 bits."""
    time = numpy.arange(int(2.7 * RATE)) / RATE
    pitch = 140 + 60 * numpy.sin(2 * numpy.pi * 1.7 * time)
    phase = 2 * numpy.pi * numpy.cumsum(pitch) / RATE
    voice = sum(numpy.sin(harmonic * phase) / harmonic * (1 + numpy.sin(2 * numpy.pi * (harmonic / 3) * time)) for harmonic in range(1, 20))
    loud = 0.5 + 0.5 * numpy.sin(2 * numpy.pi * 3.1 * time)
    loud[int(1.6 * RATE) : int(1.9 * RATE)] = 0
    whole = (voice * loud / 12 * 32767).round().clip(-32768, 32767).astype("<i2")
    with wave.open(str(FOLDER / "sound.wav"), "wb") as file:
        file.setparams((1, 2, RATE, len(whole), "NONE", ""))
        file.writeframes(whole.tobytes())
    return whole.astype(numpy.float32) / 32768


def main():
    torch.manual_seed(7)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "vocab.json").write_text(json.dumps({text: index for index, text in enumerate(VOCABULARY)}))
    tokenizer = transformers.Wav2Vec2CTCTokenizer(str(FOLDER / "vocab.json"), do_lower_case=True)
    extractor = transformers.Wav2Vec2FeatureExtractor(do_normalize=True, return_attention_mask=False)
    config = transformers.Wav2Vec2Config(
        vocab_size=len(VOCABULARY), hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        conv_dim=(12,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, pad_token_id=0, hidden_dropout=0.0,
    )
    model = transformers.Wav2Vec2ForCTC(config).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if tensor.dim() > 1 and "conv_layers" in name:
                tensor.mul_(1.5)
        model.lm_head.weight.normal_(0, 2.5)
        model.lm_head.bias.zero_()
        # The blank and the space are frequent, and special tokens do not occur.
        model.lm_head.bias[0] = 11
        model.lm_head.bias[4] = 9
        model.lm_head.bias[1:4] = -100
    model.save_pretrained(FOLDER)
    tokenizer.save_pretrained(FOLDER)
    extractor.save_pretrained(FOLDER)

    def tokens(samples):
        values = extractor(samples, sampling_rate=RATE, return_tensors="pt").input_values
        # Windows that are not full are padded as transformers pads batches.
        values = torch.nn.functional.pad(values, (0, WINDOW - values.shape[1]))
        with torch.no_grad():
            return model(values).logits[0].argmax(-1).tolist()

    samples = sound()
    first = tokens(samples[:WINDOW])
    margin = WINDOW // 6 // HOP
    step = WINDOW // HOP - 2 * margin
    found, start = [], 0
    while start * HOP < len(samples):
        part = samples[start * HOP : start * HOP + WINDOW]
        is_last = start * HOP + WINDOW >= len(samples)
        here = tokens(part)
        end = len(part) // HOP if is_last else margin + step
        found += here[0 if start == 0 else margin : end]
        if is_last:
            break
        start += step
    texts = {"first": tokenizer.decode(first), "whole": tokenizer.decode(found), "tokens": found}
    (FOLDER / "texts.json").write_text(json.dumps(texts, indent=1) + "\n")
    print(texts["first"], "|", texts["whole"], "|", found.count(0), "blanks of", len(found))


main()
