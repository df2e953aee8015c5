/* The bodies of submissions, from a file or from stdin. */
#ifndef AX_CLI_SUBMIT_INPUT_H
#define AX_CLI_SUBMIT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

/* All of a file, path NULL: of stdin. Blocks. The caller frees it. NULL: failed, after saying why.
 */
char *input_read_all(const char *path, size_t *bytes);

/* The lines of stdin. Zero-initialise. */
struct input {
    char *data; /* owned */
    size_t cap, filled, taken;
    bool ended;
    bool failed; /* it ended before its end, which was said */
};
enum input_result { INPUT_LINE, INPUT_NONE_YET, INPUT_END };
/* The next line, with NUL in place of its newline: *text, borrowed until the next call, and *bytes.
 * Waits for up to wait_ms. Out of memory ends the input, after saying so. */
enum input_result input_next(struct input *in, int wait_ms, char **text, size_t *bytes);
void input_free(struct input *in);

#endif
