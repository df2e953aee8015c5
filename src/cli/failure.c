#include "cli/failure.h"

#include <jansson.h>
#include <stdio.h>

#include "cli/output.h"

static struct {
    char text[1024];
    int code, err_code;
    int64_t retry_after_ms;
} last = {.retry_after_ms = -1};

void failure_note(const char *text)
{
    snprintf(last.text, sizeof(last.text), "%s", text);
}

void failure_answer(int code, int err_code, int64_t retry_after_ms)
{
    last.code = code;
    last.err_code = err_code;
    last.retry_after_ms = retry_after_ms;
}

static json_t *known(int64_t number, int64_t none)
{
    return number == none ? json_null() : json_integer(number);
}

void failure_print(int exit_code)
{
    if (output_has_json())
        return;
    output_json(json_pack("{s:{s:i,s:o,s:o,s:o,s:o}}", "error", "exit", exit_code, "code",
                          known(last.code, 0), "err_code", known(last.err_code, 0), "description",
                          output_text(last.text), "retry_after_ms",
                          known(last.retry_after_ms, -1)));
}
