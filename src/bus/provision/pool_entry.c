#include "bus/provision/pool_entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "bus/pipeline_get.h"
#include "task/header.h"
#include "task/names.h"

#define GET_WAIT_MS 3000
#define TRIES_MAX 5 /* others add and remove the same entry at this moment */

/* One entry being added. */
struct addition {
    struct pipeline *pipeline;
    char pool[NAME_MAX_CHARS + 1];
    char subject[SUBJECT_MAX_CHARS];
    char *json; /* owned */
    int tries;
    pool_entry_cb cb;
    void *arg;
};

static ax_err publish(struct addition *a, uint64_t expected);

static bool has_header(natsMsg *msg, const char *name)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, name, &value) == NATS_OK;
}

bool pool_entry_is_removal(natsMsg *msg)
{
    const char *value = NULL;
    if (natsMsgHeader_Get(msg, "KV-Operation", &value) == NATS_OK && strcmp(value, "PUT") != 0)
        return true;
    return has_header(msg, "Nats-Marker-Reason");
}

bool pool_entry_is_purge(natsMsg *msg)
{
    const char *value = NULL;
    return natsMsgHeader_Get(msg, "KV-Operation", &value) == NATS_OK && strcmp(value, "PURGE") == 0;
}

bool pool_entry_is_conditional(natsMsg *msg)
{
    return has_header(msg, HDR_EXPECT_SUBJECT_SEQ);
}

static void release(struct addition *a)
{
    free(a->json);
    free(a);
}

static void end(struct addition *a, ax_err err, const char *why)
{
    a->cb(a->arg, a->pool, err, why);
    release(a);
}

/* The bucket holds something else than was expected. */
static void on_found(void *arg, ax_err err, const struct stored_msg *found)
{
    struct addition *a = arg;
    if (err == AX_OK && !pool_entry_is_removal(found->msg)) {
        end(a, AX_E_EXISTS, ax_err_text(AX_E_EXISTS));
        return;
    }
    if (err == AX_OK || err == AX_E_NOT_FOUND)
        err = publish(a, err == AX_OK ? found->seq : 0);
    if (err != AX_OK)
        end(a, err, ax_err_text(err));
}

static void on_published(void *arg, const struct answer *answer)
{
    struct addition *a = arg;
    ax_err err = answer->err;
    FAULT("pool.add.after");
    if (err == AX_E_SERVER && answer->err_code == JSERR_WRONG_LAST_SEQ && ++a->tries < TRIES_MAX &&
        pipeline_get(a->pipeline, STREAM_POOLS, a->subject, 0, GET_WAIT_MS, on_found, a) == AX_OK)
        return;
    end(a, err, err == AX_E_SERVER ? answer->description : ax_err_text(err));
}

static ax_err publish(struct addition *a, uint64_t expected)
{
    char reply[PIPELINE_REPLY_MAX], seq[24];
    natsMsg *msg = NULL;
    snprintf(seq, sizeof(seq), "%" PRIu64, expected);
    ax_err err = pipeline_reserve(a->pipeline, reply);
    if (err != AX_OK)
        return err;
    natsStatus s = natsMsg_Create(&msg, a->subject, reply, a->json, (int)strlen(a->json));
    if (s == NATS_OK)
        s = header_set(msg, HDR_EXPECT_SUBJECT_SEQ, seq);
    if (s != NATS_OK) {
        natsMsg_Destroy(msg);
        msg = NULL;
    }
    FAULT("pool.add.before");
    return pipeline_publish(a->pipeline, reply, msg, 0, on_published, a);
}

ax_err pool_entry_add(struct pipeline *p, const char *pool, const char *json, pool_entry_cb cb,
                      void *arg)
{
    struct addition *a = calloc(1, sizeof(*a));
    if (a == NULL)
        return AX_E_NOMEM;
    *a = (struct addition){.pipeline = p, .cb = cb, .arg = arg, .json = strdup(json)};
    snprintf(a->pool, sizeof(a->pool), "%s", pool);
    snprintf(a->subject, sizeof(a->subject), "%s%s", POOLS_PREFIX, pool);
    ax_err err = a->json != NULL ? publish(a, 0) : AX_E_NOMEM;
    if (err != AX_OK)
        release(a);
    return err;
}
