// The functions are in Swift, in the modules AccelC and AccelCConvert, which the compiler compares with these headers.
#include "include/accel.h"
#include "include/accel_convert.h"
