"""Runs a GGUF model by llama.cpp, for `accelc verify --runtime llama` (README.md).

The library is that of the package llama-cpp-python, or of a folder with that package's source and a build beside it, such as
scripts/bench/llama.sh makes: the one that ACCELC_LLAMA names, or .build/llama of the source tree.
"""

import ctypes
import os
import pathlib
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import runner  # noqa: E402


def library():
    """The declarations of llama.cpp, with its library loaded, and their version."""
    try:
        import llama_cpp
        import llama_cpp.llama_cpp as llama
        return llama, llama_cpp.__version__
    except ImportError:
        pass
    for folder in filter(None, (os.environ.get("ACCELC_LLAMA"), HERE.parent.parent / ".build/llama")):
        for binaries in sorted(pathlib.Path(folder).glob("0.*/bin")):
            version = binaries.parent.name
            source = pathlib.Path(folder) / f"llama_cpp_python-{version}/llama_cpp"
            if not source.is_dir() or not list(binaries.glob("libllama.*")):
                continue
            os.environ["LLAMA_CPP_LIB_PATH"] = str(binaries)
            # Only the declarations are read, which want none of the package's other requirements.
            package = types.ModuleType("llama_cpp")
            package.__path__ = [str(source)]
            sys.modules["llama_cpp"] = package
            import llama_cpp.llama_cpp as llama
            return llama, version
    raise ImportError("llama_cpp", name="llama_cpp")


def file(path):
    """The file to load: the only one of a folder, or the first of its parts."""
    if path.is_file():
        return path
    files = sorted(path.glob("*.gguf"))
    firsts = [name for name in files if "-00001-of-" in name.name]
    if len(files) != 1 and len(firsts) != 1:
        sys.exit(f"{path} has {len(files)} GGUF files")
    return files[0] if len(files) == 1 else firsts[0]


def start(request):
    import numpy
    llama, version = library()
    def log(level, text, _):
        if level == 4:
            sys.stderr.write(text.decode(errors="replace"))

    quiet = llama.llama_log_callback(log)
    llama.llama_log_set(quiet, ctypes.c_void_p(0))
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(str(file(request.model)).encode(), llama.llama_model_default_params())
    if not model:
        sys.exit("llama.cpp does not load the model")
    vocabulary = llama.llama_model_get_vocab(model)

    def rows(tokens, hidden):
        """The logits of all tokens of a text, or their hidden states."""
        settings = llama.llama_context_default_params()
        settings.n_ctx = settings.n_batch = settings.n_ubatch = max(64, len(tokens))
        settings.n_threads = settings.n_threads_batch = request.threads
        # The cache has float32, and attention is computed by products and a softmax.
        settings.type_k = settings.type_v = 0
        settings.flash_attn_type = 0
        if hidden:
            settings.embeddings, settings.pooling_type = True, 0
        context = llama.llama_init_from_model(model, settings)
        batch = llama.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index], batch.n_seq_id[index] = int(token), index, 1
            batch.seq_id[index][0], batch.logits[index] = 0, 1
        code = (llama.llama_encode if hidden else llama.llama_decode)(context, batch)
        if code != 0:
            sys.exit(f"llama.cpp fails with {code} on {len(tokens)} tokens")
        width = llama.llama_model_n_embd(model) if hidden else llama.llama_vocab_n_tokens(vocabulary)
        read = llama.llama_get_embeddings_ith if hidden else llama.llama_get_logits_ith
        found = numpy.stack([numpy.ctypeslib.as_array(read(context, index), (width,)).copy() for index in range(len(tokens))])
        llama.llama_batch_free(batch)
        llama.llama_free(context)
        return found

    def call(run):
        tokens = run.input("tokens")
        if tokens is None:
            raise runner.Unable("llama.cpp takes tokens")
        kinds = set(run.outputs.values())
        segments = run.input("token-types")
        if segments is not None and segments.any():
            raise runner.Unable("llama.cpp takes texts of one segment (token types 0)")
        own = "hidden-states" if "hidden-states" in kinds else "logits"
        if own not in kinds or own == "logits" and "position" not in run.kinds.values():
            raise runner.Unable("llama.cpp gives the logits of decoders and the hidden states of encoders")
        found = numpy.stack([rows(text, own == "hidden-states") for text in tokens.tolist()])
        return {
            name: found if kind == own else runner.Unable(f"of this model llama.cpp gives its {own} only")
            for name, kind in run.outputs.items()
        }

    call.log = quiet  # llama.cpp calls it as long as it runs.
    return f"llama.cpp of llama-cpp-python {version}", call


if __name__ == "__main__":
    runner.serve("llama.cpp", "pip install llama-cpp-python", start)
