/* A worker's report may come from anybody in the account: the first byte chooses protobuf or JSON.
 * What is accepted lies within its ranges and comes back as it was packed; what is refused leaves
 * the old one and says why in one line. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "task/peer/instance.h"
#include "task/peer/report.h"

static void check_subject(const uint8_t *data, size_t size)
{
    char subject[256], pool[NAME_MAX_CHARS + 1], worker[WORKER_NAME_MAX_CHARS + 1];
    size_t n = size < sizeof(subject) - 1 ? size : sizeof(subject) - 1;
    memcpy(subject, data, n);
    subject[n] = '\0';
    if (report_parse_subject(subject, pool, worker))
        CHECK(name_is_valid(pool) && instance_is_valid(worker));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct report r = {.capacity = 7, .busy = 3}, back;
    const struct report before = r;
    struct problem p = {0};
    uint8_t buf[REPORT_MAX_BYTES];
    ax_err err = report_parse(&r, data[0] % 2 ? WORKER_SCHEMA : NULL, data + 1, size - 1, &p);
    if (err == AX_OK) {
        CHECK(r.capacity <= REPORT_CAPACITY_MAX && r.busy <= r.capacity);
        CHECK(r.load >= 0 && r.load <= 1 && r.errors <= REPORT_ERRORS_MAX);
        CHECK(r.p50_ms >= 0 && r.p50_ms <= r.p99_ms && r.p99_ms <= REPORT_MS_MAX);
        size_t n = report_pack(&r, buf);
        CHECK(n <= sizeof(buf) && report_parse(&back, WORKER_SCHEMA, buf, n, NULL) == AX_OK);
        CHECK(back.capacity == r.capacity && back.busy == r.busy && back.load == r.load &&
              back.errors == r.errors && back.p50_ms == r.p50_ms && back.p99_ms == r.p99_ms);
    } else {
        CHECK(err == AX_E_INVALID && p.err == err && p.text[0] != '\0' &&
              strchr(p.text, '\n') == NULL);
        CHECK(memcmp(&r, &before, sizeof(r)) == 0);
    }
    check_subject(data, size);
    return 0;
}
