"""Runs an MLX model by mlx-lm in float32, for `accelc verify --runtime mlx` (README.md)."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import runner  # noqa: E402


def start(request):
    import mlx.core as mx
    import mlx_lm.utils
    import numpy
    mx.set_default_device(mx.cpu)
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
