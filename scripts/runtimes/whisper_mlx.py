"""The model classes of mlx-whisper, without its tokenizer and its audio, which want more packages."""

import importlib
import importlib.util
import sys
import types


def classes():
    """Returns the package with the modules `whisper` and `load_models`.

    Raises ImportError if mlx-whisper is missing."""
    found = importlib.util.find_spec("mlx_whisper")
    if found is None:
        raise ImportError("mlx-whisper is missing", name="mlx_whisper")
    package = types.ModuleType("mlx_whisper")
    package.__path__ = list(found.submodule_search_locations)
    decoding = types.ModuleType("mlx_whisper.decoding")
    decoding.decode = decoding.detect_language = None
    sys.modules |= {"mlx_whisper": package, "mlx_whisper.decoding": decoding}
    for name in ("whisper", "load_models"):
        setattr(package, name, importlib.import_module(f"mlx_whisper.{name}"))
    return package
