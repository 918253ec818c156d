/* Generates tokens, one when it is asked for.
 * usage: generate PACKAGE COUNT TOKEN...   prints the tokens, one a line, and why they ended */
#include <accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const accel_error *error) {
    fprintf(stderr, "%s: %s\n", accel_status_text(error->code), error->message);
    return error->code;
}

int main(int argc, char **argv) {
    enum { MOST = 4096 };
    static int64_t tokens[MOST];
    accel_error error = {sizeof error, 0, "", "", "", "", ""};
    accel_generation options;
    accel_summary summary;
    accel_model *model = NULL;
    accel_session *session = NULL;
    accel_stream *stream = NULL;
    accel_status status;
    int64_t token;
    int i;
    if (argc < 4 || argc - 3 > MOST) return fprintf(stderr, "usage: generate PACKAGE COUNT TOKEN...\n"), 2;
    for (i = 3; i < argc; i++) tokens[i - 3] = strtoll(argv[i], NULL, 10);
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.tokens = tokens;
    options.token_count = (size_t)argc - 3;
    options.max_tokens = strtoll(argv[2], NULL, 10);
    options.time_limit_ms = 60000;
    memset(&summary, 0, sizeof summary);
    summary.struct_size = sizeof summary;

    if (accel_model_open(argv[1], NULL, &model, &error)) return fail(&error);
    if (accel_session_create(model, &session, &error)) return fail(&error);
    if (accel_session_generate(session, &options, &stream, &error)) return fail(&error);
    while ((status = accel_stream_next(stream, &token, &error)) == ACCEL_OK) printf("%ld\n", (long)token);
    if (status != ACCEL_END) return fail(&error);
    if (accel_stream_summary(stream, &summary, &error)) return fail(&error);
    printf("reason %u, %lu generated\n", (unsigned)summary.reason, (unsigned long)summary.generated_tokens);
    accel_stream_release(stream);
    accel_session_release(session);
    accel_model_release(model);
    return 0;
}
