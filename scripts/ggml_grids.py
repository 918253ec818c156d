"""Writes Sources/CAccelKernelCode/ggml_grids.h: the entries of the grids of ggml's types IQ2 and IQ3, from gguf-py.

usage: ggml_grids.py        (wants gguf and numpy)
An entry is the numbers of its values among those of the type, two or three bits each, the first in the lowest ones.
"""

import pathlib

import gguf.quants
import numpy

TARGET = pathlib.Path(__file__).resolve().parent.parent / "Sources/CAccelKernelCode/ggml_grids.h"
TYPES = ("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S")
# Entries of a line.
COLUMNS = 12


def entries(name):
    kind = getattr(gguf.quants, name)
    kind.init_grid()
    codes = numpy.searchsorted(kind.grid_map, kind.grid.reshape(kind.grid_shape)).astype(int)
    bits = 2 if len(kind.grid_map) == 3 else 3
    return [sum(int(code) << bits * i for i, code in enumerate(row)) for row in codes]


def macro(name):
    numbers = [f"E(0x{entry:04X})" for entry in entries(name)]
    rows = [" ".join(numbers[i:i + COLUMNS]) for i in range(0, len(numbers), COLUMNS)]
    return f"#define {name}_ENTRIES(E) \\\n" + " \\\n".join(f"    {row}" for row in rows) + "\n"


TARGET.write_text(
    "// The entries of the grids of ggml's types, by their numbers. Made by scripts/ggml_grids.py; do not edit.\n"
    "//\n"
    "// An entry is the numbers of its values among those of the type, two bits each (IQ2: eight values) or three (IQ3: four values), the\n"
    "// first in the lowest bits.\n"
    "#ifndef CKERNELS_GGML_GRIDS_H\n#define CKERNELS_GGML_GRIDS_H\n\n"
    + "\n".join(macro(name) for name in TYPES) + "\n#endif\n")
