"""Makes Tests/Fixtures/padding: the same samples with padding on the right, on the left, and where no tool puts it.

usage: fixtures_padding.py        (wants numpy, safetensors, torch, transformers)
`NAME/SIDE/samples.safetensors` holds samples of the fixture models in `CASES`. SIDE is `right` or `left`; `both` has padding at both ends; `hole`
hides a position between shown ones; `unmasked` is `left` without its mask, so that padding counts. `golden_SIDE` has the outputs of transformers, and zeros at hidden positions.
"""

import numpy
import safetensors.numpy
import torch
import transformers

import fixtures

TARGET = fixtures.FIXTURES / "padding"
LENGTHS = [9, 4, 7, 12, 5, 11, 3, 8, 10, 6, 12, 2, 9, 7, 5, 10, 4]
WIDTH = 12
PADDING = 3


def sides():
    """For each side, where each sample starts."""
    yield "right", [0] * len(LENGTHS)
    yield "left", [WIDTH - length for length in LENGTHS]
    yield "both", [(WIDTH - length) // 2 for length in LENGTHS]


def tokens(vocabulary):
    generator = numpy.random.default_rng(7)
    return [generator.integers(4, vocabulary, length) for length in LENGTHS]


def rows(samples, starts, width, fill):
    values = numpy.full((len(samples), width), fill, samples[0].dtype)
    mask = numpy.zeros((len(samples), width), numpy.int64)
    for row, (sample, start) in enumerate(zip(samples, starts)):
        values[row, start:start + len(sample)] = sample
        mask[row, start:start + len(sample)] = 1
    return values, mask


def write(folder, tensors):
    path = TARGET / folder / "samples.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    safetensors.numpy.save_file(tensors, path)
    path.chmod(0o644)


def texts(name, port, vocabulary, more):
    samples = tokens(vocabulary)
    for side, starts in sides():
        values, mask = rows(samples, starts, WIDTH, PADDING)
        write(f"{name}/{side}", {port: values, "attention_mask": mask, **more})
        if side == "left":
            write(f"{name}/unmasked", {port: values, **more})
    values, mask = rows(samples, [0] * len(samples), WIDTH, PADDING)
    mask[3, 5] = 0
    write(f"{name}/hole", {port: values, "attention_mask": mask, **more})


def audio(name):
    generator = numpy.random.default_rng(8)
    samples = [generator.standard_normal(20 * length).astype(numpy.float32) for length in LENGTHS[:6]]
    for side, starts in list(sides())[:2]:
        values, mask = rows(samples, [20 * start for start in starts[:6]], 20 * WIDTH, 0)
        write(f"{name}/{side}", {"input_values": values, "attention_mask": mask})


def goldens():
    """Logits of transformers for two texts; those at hidden positions are 0."""
    model = transformers.AutoModelForCausalLM.from_pretrained(fixtures.FIXTURES / "llama_llama3", dtype=torch.float32).eval()
    samples, starts = tokens(47)[:2], dict(sides())
    for side in ("right", "left"):
        values, mask = rows(samples, starts[side][:2], WIDTH, PADDING)
        logits = numpy.zeros((2, WIDTH, 47), numpy.float32)
        for row, (sample, start) in enumerate(zip(samples, starts[side])):
            with torch.no_grad():
                logits[row, start:start + len(sample)] = model(torch.tensor([sample.tolist()])).logits[0].numpy()
        write(f"llama/golden_{side}", {"in.input_ids": values, "in.attention_mask": mask, "out.logits_full": logits})
        if side == "right":
            write("llama/golden_unmasked", {"in.input_ids": values, "out.logits_full": logits})


def main():
    goldens()
    texts("llama", "input_ids", 47, {})
    features = numpy.random.default_rng(9).standard_normal((len(LENGTHS), 10, 6)).astype(numpy.float32)
    texts("whisper", "decoder_input_ids", 47, {"input_features": features})
    audio("wav2vec2")


if __name__ == "__main__":
    main()
