// SIMD kernels behind one run-time dispatch, one header a subject. The plain scalar form of each function defines its result; faster
// forms are chosen once by the processor's features, and are tested against the scalar form.
#ifndef CACCEL_KERNELS_H
#define CACCEL_KERNELS_H

#include "bfloat16_products.h"
#include "byte_rows.h"
#include "even_codes.h"
#include "ggml_blocks.h"
#include "half_precision.h"
#include "hashing.h"
#include "instruction_sets.h"
#include "int8_activations.h"
#include "machine_limits.h"
#include "matrix_products.h"
#include "palettes.h"
#include "reference_sums.h"
#include "row_kernels.h"
#include "stored_types.h"
#include "thread_teams.h"
#include "vector_products.h"
#include "weight_decoding.h"

#endif
