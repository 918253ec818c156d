/* Embeds tokens: runs a function of a text encoder, with its inputs and outputs in this program's memory.
 * usage: embed PACKAGE FUNCTION OUTPUT TOKEN...   prints the output's numbers, one a line */
#include <accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The elements of an input by its role: the tokens, ones for the mask, zeros for the segments. */
static int64_t *input(const accel_port *port, char **tokens, size_t count) {
    size_t i, size = port->byte_count / sizeof(int64_t);
    int64_t *elements = calloc(size ? size : 1, sizeof *elements);
    if (!elements || port->type != ACCEL_I64) exit(3);
    for (i = 0; i < size; i++) {
        if (strcmp(port->role, "tokens") == 0) elements[i] = i < count ? strtoll(tokens[i], NULL, 10) : 0;
        if (strcmp(port->role, "attention-mask") == 0) elements[i] = i < count;
    }
    return elements;
}

static int fail(const accel_error *error) {
    fprintf(stderr, "%s: %s\n", accel_status_text(error->code), error->message);
    return error->code;
}

int main(int argc, char **argv) {
    enum { MOST = 8 };
    accel_error error = {sizeof error, 0, "", "", "", "", ""};
    accel_model *model = NULL;
    const accel_function *function = NULL;
    accel_tensor inputs[MOST], output;
    size_t i, j, count, outputs;
    accel_port port;
    memset(inputs, 0, sizeof inputs);
    memset(&output, 0, sizeof output);
    memset(&port, 0, sizeof port);
    port.struct_size = sizeof port;
    if (argc < 5) return fprintf(stderr, "usage: embed PACKAGE FUNCTION OUTPUT TOKEN...\n"), 2;

    if (accel_model_open(argv[1], NULL, &model, &error)) return fail(&error);
    if (accel_model_function(model, argv[2], &function, &error)) return fail(&error);
    count = accel_function_port_count(function, ACCEL_INPUT);
    if (count > MOST) return fprintf(stderr, "%s has %lu inputs\n", argv[2], (unsigned long)count), 3;
    for (i = 0; i < count; i++) {
        if (accel_function_port(function, ACCEL_INPUT, i, &port, &error)) return fail(&error);
        inputs[i].struct_size = sizeof inputs[i];
        inputs[i].type = port.type;
        inputs[i].name = port.name;
        inputs[i].data = input(&port, argv + 4, (size_t)argc - 4);
        inputs[i].byte_count = port.byte_count;
    }
    outputs = accel_function_port_count(function, ACCEL_OUTPUT);
    for (j = 0; j < outputs; j++) {
        if (accel_function_port(function, ACCEL_OUTPUT, j, &port, &error)) return fail(&error);
        if (strcmp(port.name, argv[3]) == 0) break;
    }
    if (j == outputs || port.type != ACCEL_F32) return fprintf(stderr, "there is no output %s of F32\n", argv[3]), 3;
    output.struct_size = sizeof output;
    output.type = port.type;
    output.name = port.name;
    output.byte_count = port.byte_count;
    output.data = malloc(port.byte_count ? port.byte_count : 1);
    if (!output.data) return 3;

    if (accel_function_run(function, inputs, count, &output, 1, NULL, &error)) return fail(&error);
    for (i = 0; i < output.byte_count / sizeof(float); i++) printf("%.9g\n", ((float *)output.data)[i]);

    for (i = 0; i < count; i++) free(inputs[i].data);
    free(output.data);
    accel_model_release(model);
    return 0;
}
