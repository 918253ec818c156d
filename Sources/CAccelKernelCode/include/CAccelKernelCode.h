// The build wants a header of every C module. The functions of this one are declared in CAccelKernels.h.
