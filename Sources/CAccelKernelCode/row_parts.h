// Loops over rows that may end early.
#ifndef CKERNELS_ROW_PARTS_H
#define CKERNELS_ROW_PARTS_H

#include "internal.h"

/// Elements of a row that are done before a kernel asks whether the work has to end.
enum { ck_row_part = 1 << 16 };

CK_INLINE int ck_may_go_on(ck_cancellation cancellation, size_t start) {
    // The first part is the only one of most rows.
    return __builtin_expect(start == 0, 1) || !cancellation.must_end || !cancellation.must_end(cancellation.context);
}

/// A loop over a row: `i` is 0, `step`, 2 `step` and so on, below `count`, until the work has to end. `step` is a power of 2.
#define CK_STEPS_OF_ROW(i, step, count, cancellation)                                                                   \
    for (size_t part = 0; part < (count) && ck_may_go_on(cancellation, part); part += ck_row_part)                      \
        for (size_t i = part, part_end = (count) - part < ck_row_part ? (count) : part + ck_row_part; i < part_end; i += (step))

#endif
