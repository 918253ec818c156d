/* Converts a model, and prints its progress. Link libaccelconvert.
 * usage: convert MODEL PACKAGE [SHAPE...] */
#include <accel_convert.h>
#include <stdio.h>
#include <string.h>

static void progress(void *context, const char *stage, double fraction, const char *item) {
    (void)context;
    if (fraction < 0) printf("%s: %s\n", stage, item);
}

int main(int argc, char **argv) {
    accel_error error = {sizeof error, 0, "", "", "", "", ""};
    accel_conversion options;
    char request[8192];
    int i;
    size_t used;
    if (argc < 3) return fprintf(stderr, "usage: convert MODEL PACKAGE [SHAPE...]\n"), 2;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.progress = progress;
    /* Names with quotes or backslashes would have to be escaped. */
    used = (size_t)snprintf(
        request, sizeof request, "{\"model\": \"%s\", \"output\": \"%s\", \"compress\": \"float32\"", argv[1], argv[2]);
    for (i = 3; i < argc && used < sizeof request; i++)
        used += (size_t)snprintf(request + used, sizeof request - used, "%s\"%s\"", i == 3 ? ", \"shapes\": [" : ", ", argv[i]);
    if (used < sizeof request) used += (size_t)snprintf(request + used, sizeof request - used, argc > 3 ? "]}" : "}");
    if (used >= sizeof request) return fprintf(stderr, "the request is too long\n"), 2;
    if (accel_convert(request, &options, &error)) return fprintf(stderr, "%s\n", error.message), error.code;
    return 0;
}
