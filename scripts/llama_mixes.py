"""What llama.cpp's quantizer makes of small models: the type of each matrix in every mix. Used by fixtures_mixes.py and peers/gguf_mixes.py."""

import ctypes
import functools
import re

import gguf
import numpy

# llama.cpp's numbers of file types, by accelc's names of mixes.
MIXES = {
    "q4_0_mix": 2, "q4_1_mix": 3, "q8_0_mix": 7, "q5_0_mix": 8, "q5_1_mix": 9, "q2_k_mix": 10, "q3_k_s": 11, "q3_k_m": 12, "q3_k_l": 13,
    "q4_k_s": 14, "q4_k_m": 15, "q5_k_s": 16, "q5_k_m": 17, "q6_k_mix": 18, "iq2_xxs_mix": 19, "iq2_xs_mix": 20, "q2_k_s": 21,
    "iq3_xs": 22, "iq3_xxs_mix": 23, "iq4_nl_mix": 25, "iq3_s_mix": 26, "iq3_m": 27, "iq2_s_mix": 28, "iq2_m": 29, "iq4_xs_mix": 30,
    "tq1_0_mix": 36, "tq2_0_mix": 37,
}
# Those that llama.cpp does not make without an importance matrix.
WEIGHTED = {"q2_k_s", "iq2_xxs_mix", "iq2_xs_mix", "iq2_s_mix"}


@functools.cache
def silent(llama):
    return llama.llama_log_callback(lambda *_: None)


def settings(llama, mix, matrices):
    settings = llama.llama_model_quantize_default_params()
    settings.nthread, settings.ftype = 2, MIXES[mix]
    if matrices:
        # The values do not matter for types: a length stands for ones.
        rows = {name: numpy.ones(row, numpy.float32) if isinstance(row, int) else row for name, row in matrices.items()}
        entries = (llama.llama_model_imatrix_data * (len(rows) + 1))()
        for entry, (name, values) in zip(entries, rows.items()):
            entry.name, entry.size = name.encode(), len(values)
            entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        settings.imatrix = entries
        settings.kept = rows
    return settings


def quantized(llama, source, target, mix, matrices=None):
    """Quantizes a file with libllama; returns a reader of the result. `matrices` has an importance matrix: rows of float32 by name, or their lengths."""
    chosen = settings(llama, mix, matrices)
    code = llama.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(chosen))
    if code != 0:
        raise RuntimeError(f"llama_model_quantize: {code}")
    return gguf.GGUFReader(target)


def planned(llama, source, mix, matrices=None):
    """The types that libllama would quantize the tensors of a file to, by name, from the log of a dry run."""
    chosen = settings(llama, mix, matrices)
    chosen.dry_run = True
    text = []
    log = llama.llama_log_callback(lambda level, words, data: text.append(words.decode()))
    llama.llama_log_set(log, None)
    code = llama.llama_model_quantize(str(source).encode(), b"", ctypes.byref(chosen))
    llama.llama_log_set(silent(llama), None)
    if code != 0:
        raise RuntimeError(f"llama_model_quantize: {code}")
    lines = re.findall(r"\[ *\d+/ *\d+\] +(\S+) +- .*type = +(\S+), size = .*MiB(?: \((\S+)\))?\n", "".join(text))
    return {name: (kind or own).upper() for name, own, kind in lines}
