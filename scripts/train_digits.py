"""Trains the classifier in Tests/Fixtures/digits: scikit-learn's handwritten digits, read as 64 intensity tokens by a small BERT.

usage: train_digits.py             (wants torch, transformers, safetensors, scikit-learn; some minutes on one core)
The checkpoint is what a user gets to see when the real MiniLM cannot be fetched: real weights, a real held-out set, real accuracy.
Tokens: 0 padding, 1 the classification token that stands first, 2 + intensity (0 to 16) for each pixel, row by row.
The golden holds `labels` too: the right digit for each held-out image.
"""

import pathlib

import numpy
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from transformers import BertConfig, BertForSequenceClassification

import cases

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "digits"
SEED, EPOCHS, BATCH, RATE = 11, 140, 48, 1.5e-3


def tokens(images):
    pixels = torch.from_numpy(images.reshape(len(images), 64)).long()
    return torch.cat([torch.ones(len(images), 1, dtype=torch.long), pixels + 2], dim=1)


def shifted(images, generator):
    """Each image moved by up to one pixel along each axis, the border filled with background."""
    padded = numpy.pad(images, ((0, 0), (1, 1), (1, 1)))
    down, right = generator.integers(0, 3, (2, len(images)))
    return numpy.stack([image[y : y + 8, x : x + 8] for image, y, x in zip(padded, down, right)])


def train(model, images, labels):
    generator = numpy.random.default_rng(SEED)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.02)
    steps = EPOCHS * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.15)
    model.train()
    for epoch in range(EPOCHS):
        total = 0.0
        for rows in numpy.array_split(generator.permutation(len(images)), -(-len(images) // BATCH)):
            result = model(input_ids=tokens(shifted(images[rows], generator)), labels=torch.from_numpy(labels[rows]).long())
            optimiser.zero_grad()
            result.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            total += result.loss.item() * len(rows)
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: loss {total / len(images):.4f}", flush=True)


def main():
    torch.manual_seed(SEED)
    digits = load_digits()
    images, held_images, labels, held_labels = train_test_split(
        digits.images.astype(numpy.int64), digits.target, test_size=360, stratify=digits.target, random_state=SEED)
    config = BertConfig(
        vocab_size=19, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=192,
        max_position_embeddings=65, type_vocab_size=1, num_labels=10, initializer_range=0.125, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.1)
    model = BertForSequenceClassification(config)
    train(model, images, labels)
    model.save_pretrained(FOLDER)
    ids = tokens(held_images)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    cases.write(
        FOLDER, model, inputs, extra={"labels": torch.from_numpy(held_labels).long()}, seed=SEED, dist="trained",
        kind="BertForSequenceClassification")
    right = cases.tensors(FOLDER)["out.logits"].argmax(1) == torch.from_numpy(held_labels)
    print(f"{right.sum()} of {len(right)} held-out digits read right ({right.double().mean():.2%})")


if __name__ == "__main__":
    main()
