"""Perplexity and divergence from logits, in float64, as llama.cpp's perplexity tool defines them."""

import numpy


def log_probabilities(logits):
    values = logits.astype(numpy.float64)
    values -= values.max(axis=1, keepdims=True)
    return values - numpy.log(numpy.exp(values).sum(axis=1, keepdims=True))


class Scores:
    """Sums over chunks: of one model (the original), or of a second one (the subject) beside it."""

    def __init__(self):
        self.losses, self.divergences, self.equal = [], [], []

    def add(self, subject, original, following):
        """Adds log probabilities [positions, vocabulary] of both models, and the tokens that follow."""
        self.losses.append(-subject[numpy.arange(len(following)), following])
        self.divergences.append((numpy.exp(original) * (original - subject)).sum(axis=1))
        self.equal.append(subject.argmax(axis=1) == original.argmax(axis=1))

    def figures(self):
        """The figures by the names that accelc verify reports them by."""
        divergences = numpy.concatenate(self.divergences)
        return {
            "perplexity": float(numpy.exp(numpy.concatenate(self.losses).mean())), "klDivergence": float(divergences.mean()),
            "klDivergence99": float(numpy.percentile(divergences, 99)), "klDivergenceMaximum": float(divergences.max()),
            "equalTopTokens": float(numpy.concatenate(self.equal).mean()),
        }
