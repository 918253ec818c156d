"""Runs an MLX model by mlx-lm, or by mlx-whisper, in float32, for `accelc verify --runtime mlx` (README.md)."""

import importlib.metadata
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import whisper_mlx  # noqa: E402
import runner  # noqa: E402


def start(request):
    import mlx.core as mx
    mx.set_default_device(mx.cpu)
    config = json.loads((request.model / "config.json").read_text())
    return (start_whisper if config.get("model_type") == "whisper" else start_language)(request)


def start_whisper(request):
    import mlx.core as mx
    import numpy
    model = whisper_mlx.classes().load_models.load_model(str(request.model), mx.float32)
    model.set_dtype(mx.float32)

    def call(run):
        features = run.input("log-mel")
        if features is None:
            raise runner.Unable("mlx-whisper's decoder has no cache of the layout that the function has")
        if features.shape[2] != 2 * model.dims.n_audio_ctx:
            raise runner.Unable(f"mlx-whisper takes {2 * model.dims.n_audio_ctx} frames, and there are {features.shape[2]}")
        hidden = numpy.array(model.encoder(mx.array(features.transpose(0, 2, 1), dtype=mx.float32)).astype(mx.float32))
        return {
            name: hidden if kind == "hidden-states" else runner.Unable("mlx-whisper's encoder gives hidden states only")
            for name, kind in run.outputs.items()
        }

    return f"mlx {mx.__version__}, mlx-whisper {importlib.metadata.version('mlx-whisper')}", call


def start_language(request):
    import mlx.core as mx
    import mlx_lm.utils
    import numpy
    version = f"mlx {mx.__version__}, mlx-lm {mlx_lm.__version__}"
    try:
        model, _ = mlx_lm.utils.load_model(request.model)
    except ValueError as error:
        if "not supported" not in str(error):
            raise
        return version, lambda run: {name: runner.Unable(f"mlx-lm: {error}") for name in run.outputs}
    # Its layers then compute in float32, on the codes, scales and biases of the file.
    model.set_dtype(mx.float32)

    def call(run):
        tokens = run.input("tokens")
        if tokens is None:
            raise runner.Unable("mlx-lm takes tokens")
        logits = numpy.array(model(mx.array(tokens, dtype=mx.int32)).astype(mx.float32))
        return {
            name: logits if kind == "logits" else runner.Unable("mlx-lm gives logits only")
            for name, kind in run.outputs.items()
        }

    return version, call


if __name__ == "__main__":
    runner.serve("MLX", "pip install 'mlx[cpu]' mlx-lm", start)
