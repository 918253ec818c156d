/* Generates tokens three times in one session: after the prompt, after a snapshot of that moment is restored, and after a rewind to
 * the beginning. The tokens are the same.
 * usage: again PACKAGE COUNT TOKEN...   prints the tokens, one a line, and why they ended */
#include <accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static int fail(const accel_error *error) {
    fprintf(stderr, "%s: %s\n", accel_status_text(error->code), error->message);
    return error->code;
}

/* The tokens of a stream, and how it ended. */
static accel_status generate(
    accel_session *session, const accel_generation *options, int64_t *tokens, accel_summary *summary, accel_error *error) {
    accel_stream *stream = NULL;
    size_t count = 0;
    accel_status status = accel_session_generate(session, options, &stream, error);
    while (status == ACCEL_OK && count < MOST) status = accel_stream_next(stream, &tokens[count++], error);
    if (status == ACCEL_OK || status == ACCEL_END) status = accel_stream_summary(stream, summary, error);
    accel_stream_release(stream);
    return status;
}

int main(int argc, char **argv) {
    static int64_t prompt[MOST], first[MOST], second[MOST], third[MOST];
    accel_error error = {sizeof error, 0, "", "", "", "", ""};
    accel_options opening;
    accel_generation options;
    accel_summary summary, again, anew;
    accel_model *model = NULL;
    accel_session *session = NULL;
    accel_snapshot *snapshot = NULL;
    size_t bytes, i;
    if (argc < 4 || argc - 3 > MOST) return fprintf(stderr, "usage: again PACKAGE COUNT TOKEN...\n"), 2;
    for (i = 3; i < (size_t)argc; i++) prompt[i - 3] = strtoll(argv[i], NULL, 10);
    memset(&opening, 0, sizeof opening);
    opening.struct_size = sizeof opening;
    opening.preparation_limit_ms = 60000; /* a backend that is not ready by then is passed over */
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.tokens = prompt;
    options.token_count = (size_t)argc - 3;
    memset(&summary, 0, sizeof summary);
    summary.struct_size = sizeof summary;
    again = anew = summary;

    if (accel_model_open(argv[1], &opening, &model, &error)) return fail(&error);
    if (accel_session_create(model, &session, &error)) return fail(&error);
    options.max_tokens = 1;
    if (generate(session, &options, first, &summary, &error)) return fail(&error);
    if (accel_session_snapshot(session, &snapshot, &error)) return fail(&error);
    options.max_tokens = strtoll(argv[2], NULL, 10);
    if (generate(session, &options, first, &summary, &error)) return fail(&error);
    if (accel_session_restore(session, snapshot, &error)) return fail(&error);
    if (generate(session, &options, second, &again, &error)) return fail(&error);
    if (accel_session_rewind(session, 0, &error)) return fail(&error);
    if (generate(session, &options, third, &anew, &error)) return fail(&error);
    bytes = (size_t)summary.generated_tokens * sizeof(int64_t);
    if (again.generated_tokens != summary.generated_tokens || anew.generated_tokens != summary.generated_tokens
        || memcmp(first, second, bytes) != 0 || memcmp(first, third, bytes) != 0
        || again.prompt_tokens != 1 || anew.reused_tokens != 0 || accel_snapshot_byte_count(snapshot) == 0)
        return fprintf(stderr, "the session does not go back\n"), 1;
    for (i = 0; i < (size_t)summary.generated_tokens; i++) printf("%ld\n", (long)first[i]);
    printf("reason %u, %lu generated\n", (unsigned)summary.reason, (unsigned long)summary.generated_tokens);
    accel_snapshot_release(snapshot);
    accel_session_release(session);
    accel_model_release(model);
    return 0;
}
