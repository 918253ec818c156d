// The whole environment, which Swift does not let a program read.
#include "include/CAccelPlatform.h"

#if defined(__APPLE__)
#include <crt_externs.h>
char **cp_environment(void) { return *_NSGetEnviron(); }
#else
extern char **environ;
char **cp_environment(void) { return environ; }
#endif
