/* accel_convert.h: conversion of models to accelerator packages; part of libaccelconvert only, which has all of accel.h as well. */
#ifndef ACCEL_CONVERT_H
#define ACCEL_CONVERT_H

#include "accel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct accel_conversion {
    uint32_t struct_size;
    int32_t threads; /* at most 1024; 0: one for each processor */
    accel_cancel *cancel;
    accel_progress progress; /* on the calling thread */
    void *context;
} accel_conversion;

/*
 * Converts a model, and publishes the package with one rename; blocks until that is done. options may be NULL.
 *
 * request: a JSON object, whose fields are options of `accelc convert`:
 *     "model"      a folder with config.json and *.safetensors, a file, or a package (needed)
 *     "output"     the path of the package (needed)
 *     "compress"   a scheme, e.g. "palette:bits=4,group=16"; or
 *     "recipe"     a recipe: an object by schemas/recipe.schema.json
 *     "shapes"     an array, e.g. ["batch=1,sequence=128"]
 *     "parts", "ignore_tensors"   arrays of names
 *     "config"     the path of a config.json
 *     "logits"     "all" or "last"
 *     "states"     "float32", "float16" or "int8"
 *     "cache"      the folder of a cache of results
 *     "zip", "strict"   true or false
 * A field that is not among these is an error.
 */
accel_status accel_convert(const char *request, const accel_conversion *options, accel_error *error);

#ifdef __cplusplus
}
#endif
#endif
