"""Runs a CTranslate2 model, for `accelc verify --runtime ctranslate2` (README.md)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import runner  # noqa: E402


def start(request):
    import ctranslate2
    import numpy
    # By default it computes in the type of the weights where this processor can: int8 weights with activations in int8.
    options = dict(
        device="cpu", compute_type="float32" if request.keeps_activations else "default", inter_threads=1,
        intra_threads=request.threads)
    models = {}

    def model(kind):
        if kind not in models:
            models[kind] = kind(str(request.model), **options)
        return models[kind]

    def encoded(run, tokens):
        types = run.input("token-types")
        result = model(ctranslate2.Encoder).forward_batch(
            tokens.tolist(), token_type_ids=types.tolist() if types is not None else None)
        found = {}
        for name, kind in run.outputs.items():
            if kind == "hidden-states":
                found[name] = numpy.array(result.last_hidden_state)
            elif kind == "pooled" and result.pooler_output is not None:
                found[name] = numpy.array(result.pooler_output)
            else:
                found[name] = runner.Unable("CTranslate2 has no head for it")
        return found

    def call(run):
        tokens, features = run.input("tokens"), run.input("log-mel")
        if features is not None:
            view = ctranslate2.StorageView.from_array(numpy.ascontiguousarray(features, numpy.float32))
            hidden = numpy.array(model(ctranslate2.models.Whisper).encode(view, to_cpu=True))
            return {
                name: hidden if kind == "hidden-states" else runner.Unable("CTranslate2 gives hidden states only")
                for name, kind in run.outputs.items()
            }
        if tokens is None:
            raise runner.Unable("CTranslate2 takes tokens or log-mel features")
        if any(kind == "position" for kind in run.kinds.values()):
            logits = numpy.array(model(ctranslate2.Generator).forward_batch(tokens.tolist()))
            return {
                name: logits if kind == "logits" else runner.Unable("CTranslate2 gives logits only")
                for name, kind in run.outputs.items()
            }
        return encoded(run, tokens)

    return f"ctranslate2 {ctranslate2.__version__}", call


if __name__ == "__main__":
    runner.serve("CTranslate2", "pip install ctranslate2", start)
