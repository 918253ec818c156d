// Undefines what the file that includes sums_body.h defines for an instruction set, and what sums_body.h itself does.
#undef SUM_ROWS
#undef FLOATS
#undef FMA
#undef AT
#undef NAME
#undef TARGET
