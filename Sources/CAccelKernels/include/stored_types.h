// Types of stored values and their errors; CAccelKernels.h includes it.
#ifndef CKERNELS_STORED_TYPES_H
#define CKERNELS_STORED_TYPES_H


/// The type of values, which may be unaligned.
typedef enum { CK_F32 = 0, CK_F16 = 1, CK_BF16 = 2 } ck_type;

/// The error of decoded values. Each row's squares are summed in float32 over at most 16 values, then in float64.
typedef struct {
    /// Sum of w^2.
    double energy;
    /// Sum of (w - q)^2.
    double squares;
    /// Largest |w - q|; exact.
    double maximum;
} ck_errors;

#endif
