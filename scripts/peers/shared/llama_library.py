"""llama.cpp's library, which scripts/bench/llama.sh builds. The import fails with `ImportError` where it cannot be built."""

import ctypes
import os
import pathlib
import subprocess
import sys
import types

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


def declarations():
    """llama.cpp's declarations, and the folder of its libraries; only they are read of the Python package, which wants none of its
    requirements."""
    folder = pathlib.Path(os.environ.get("ACCELC_LLAMA") or ROOT / ".build/llama")
    if not list(folder.glob("0.*/bin/llama-perplexity")):
        built = subprocess.run(["bash", ROOT / "scripts/bench/llama.sh"], stdout=subprocess.DEVNULL)
        if built.returncode != 0:
            raise ImportError("scripts/bench/llama.sh could not build llama.cpp", name="llama.cpp")
    binaries = next(folder.glob("0.*/bin"))
    os.environ["LLAMA_CPP_LIB_PATH"] = str(binaries)
    package = types.ModuleType("llama_cpp")
    package.__path__ = [str(next(folder.glob("llama_cpp_python-*/llama_cpp")))]
    sys.modules["llama_cpp"] = package
    import llama_cpp.llama_cpp
    return llama_cpp.llama_cpp, binaries


llama, BINARIES = declarations()
_silent = llama.llama_log_callback(lambda *_: None)


def silence():
    llama.llama_log_set(_silent, ctypes.c_void_p(0))


silence()
llama.llama_backend_init()


class Loaded:
    """A model in libllama."""

    threads = 2

    def __init__(self, path):
        self.model = llama.llama_model_load_from_file(str(path).encode(), llama.llama_model_default_params())
        if not self.model:
            raise RuntimeError("llama.cpp does not load it")
        self.vocabulary = llama.llama_model_get_vocab(self.model)

    def _computed(self, tokens, embeddings, pooling=0):
        """A context after all tokens, and the batch of them."""
        settings = llama.llama_context_default_params()
        settings.n_ctx, settings.n_threads, settings.n_threads_batch = 64, self.threads, self.threads
        settings.n_batch = settings.n_ubatch = 64
        settings.type_k = settings.type_v = 0
        settings.flash_attn_type = 0
        if embeddings:
            settings.embeddings, settings.pooling_type = True, pooling
        context = llama.llama_init_from_model(self.model, settings)
        if not context:
            raise RuntimeError("llama.cpp makes no context")
        batch = llama.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index], batch.n_seq_id[index] = int(token), index, 1
            batch.seq_id[index][0], batch.logits[index] = 0, 1
        code = (llama.llama_encode if embeddings else llama.llama_decode)(context, batch)
        if code != 0:
            raise RuntimeError(f"llama.cpp fails with {code}")
        return context, batch

    def close(self):
        llama.llama_model_free(self.model)

    def pooled(self, tokens):
        """The embedding of a sentence, by the pooling that the file states."""
        context, batch = self._computed(tokens, True, pooling=-1)
        width = llama.llama_model_n_embd(self.model)
        vector = numpy.ctypeslib.as_array(llama.llama_get_embeddings_seq(context, 0), (width,)).copy()
        llama.llama_batch_free(batch)
        llama.llama_free(context)
        return vector

    def run(self, tokens, embeddings=False):
        """The logits of all tokens, or their hidden states."""
        context, batch = self._computed(tokens, embeddings)
        width = llama.llama_model_n_embd(self.model) if embeddings else llama.llama_vocab_n_tokens(self.vocabulary)
        read = llama.llama_get_embeddings_ith if embeddings else llama.llama_get_logits_ith
        rows = [numpy.ctypeslib.as_array(read(context, index), (width,)).copy() for index in range(len(tokens))]
        llama.llama_batch_free(batch)
        llama.llama_free(context)
        return numpy.stack(rows)

    def tokenize(self, text):
        words, numbers = text.encode(), (llama.llama_token * 256)()
        count = llama.llama_tokenize(self.vocabulary, words, len(words), numbers, 256, False, True)
        return list(numbers[:count])
