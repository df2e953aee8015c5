#include "cli/work/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "task/peer/report.h"

#define EVERY_MS 5000
#define SOONEST_MS 1000 /* after the last one, however often it becomes idle and busy */

void reports_init(struct reports *r, natsConnection *nc, const char *pool, const char *worker)
{
    *r = (struct reports){.nc = nc, .was_idle = true};
    snprintf(r->subject, sizeof(r->subject), WORKER_PREFIX "%s.%s", pool, worker);
}

void reports_ended(struct reports *r, bool ok, int64_t took_ms)
{
    if (ok)
        r->times_ms[r->finished++ % REPORTS_TIMES_MAX] = took_ms;
    else
        r->errors++;
}

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void put_times(struct reports *r, struct report *out)
{
    size_t n = r->finished < REPORTS_TIMES_MAX ? (size_t)r->finished : REPORTS_TIMES_MAX;
    if (n == 0)
        return;
    qsort(r->times_ms, n, sizeof(r->times_ms[0]), by_length);
    out->p50_ms = (double)r->times_ms[(n - 1) / 2];
    out->p99_ms = (double)r->times_ms[(n - 1) * 99 / 100];
}

static void send(struct reports *r, int busy, int capacity)
{
    struct report report = {.capacity = (uint32_t)capacity,
                            .busy = (uint32_t)busy,
                            .load = reports_machine_load(),
                            .errors = r->errors};
    uint8_t buf[REPORT_MAX_BYTES];
    natsMsg *msg = NULL;
    put_times(r, &report);
    size_t bytes = report_pack(&report, buf);
    if (natsMsg_Create(&msg, r->subject, NULL, (const char *)buf, (int)bytes) == NATS_OK &&
        natsMsgHeader_Set(msg, HDR_SCHEMA, WORKER_SCHEMA) == NATS_OK)
        natsConnection_PublishMsg(r->nc, msg); /* one that is lost is followed by another */
    natsMsg_Destroy(msg);
    r->errors = 0;
    r->finished = 0;
    r->sent_ms = clock_now_ms();
    r->due_ms = r->sent_ms + EVERY_MS;
    r->was_idle = busy == 0;
}

void reports_tick(struct reports *r, int busy, int capacity)
{
    int64_t now_ms = clock_now_ms();
    if ((busy == 0) != r->was_idle && r->due_ms > r->sent_ms + SOONEST_MS)
        r->due_ms = r->sent_ms + SOONEST_MS;
    if (capacity == 0 || r->due_ms <= now_ms)
        send(r, busy, capacity);
}

int64_t reports_due_ms(const struct reports *r)
{
    return r->due_ms;
}

/* "some avg10=1.23 avg60=…": per cent. -1: the kernel has none. */
static double pressure(const char *path)
{
    double percent = -1;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return -1;
    if (fscanf(f, "some avg10=%lf", &percent) != 1)
        percent = -1;
    fclose(f);
    return percent;
}

double reports_machine_load(void)
{
    static const char *const paths[] = {"/proc/pressure/cpu", "/proc/pressure/memory",
                                        "/proc/pressure/io"};
    double worst = -1, runnable;
    for (int i = 0; i < 3; i++) {
        double percent = pressure(paths[i]);
        worst = percent > worst ? percent : worst;
    }
    if (worst >= 0)
        return worst < 100 ? worst / 100 : 1;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&runnable, 1) != 1 || processors < 1)
        return 0;
    double load = runnable / (2 * (double)processors);
    return load < 1 ? load : 1;
}
