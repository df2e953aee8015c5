/* Works a pool: worker POOL. Plain nats.c, nothing of AX is linked. cc -o worker worker.c -lnats */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Your transaction. `INSERT … ON CONFLICT (task) DO UPDATE … WHERE fence < :fence` keeps an older
 * attempt of the same task from writing after a newer one. */
static int work(const char *task, unsigned long long fence, const char *body)
{
    return *task == '\0' || fence == 0 || strcmp(body, "fail") == 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    natsConnection *nc = NULL;
    jsCtx *js = NULL;
    natsSubscription *sub = NULL;
    jsSubOptions options;
    jsSubOptions_Init(&options);
    /* with stream and consumer given it binds to the pool's consumer and creates none */
    options.Stream = "AX_WORK";
    options.Consumer = argc == 2 ? argv[1] : "default";
    if (natsConnection_ConnectTo(&nc, getenv("NATS_URL") ? getenv("NATS_URL") : NATS_DEFAULT_URL) !=
            NATS_OK ||
        natsConnection_JetStream(&js, nc, NULL) != NATS_OK ||
        js_PullSubscribe(&sub, js, NULL, NULL, NULL, &options, NULL) != NATS_OK)
        return nats_PrintLastErrorStack(stderr), 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (natsMsgList list;; natsMsgList_Destroy(&list)) {
        /* One at a time: before nats.c 3.9 a fetch of several can write past its list when answers
         * to an earlier one came late. */
        while (natsSubscription_Fetch(&list, sub, 1, 5000, NULL) != NATS_OK)
            ; /* nothing to do for 5 s */
        natsMsg *msg = list.Msgs[0];
        const char *task = "", *body = natsMsg_GetData(msg);
        jsMsgMetaData *meta = NULL;
        natsMsgHeader_Get(msg, "Ax-Task", &task);
        unsigned long long fence = natsMsg_GetMetaData(&meta, msg) == NATS_OK
                                       ? meta->Sequence.Stream
                                       : 0;
        jsMsgMetaData_Destroy(meta);
        /* poison: no retry, straight to the dead letters */
        if (natsMsg_GetDataLength(msg) == 0) {
            natsConnection_PublishString(nc, natsMsg_GetReply(msg), "+TERM empty body");
        } else if (work(task, fence, body) != 0) {
            printf("failed task=%s fence=%llu\n", task, fence);
            natsMsg_Nak(msg, NULL); /* tried again after the backoff */
        } else {
            /* after the commit: never before it, or a crash loses the task */
            natsMsg_Ack(msg, NULL);
            printf("done task=%s fence=%llu body=%s\n", task, fence, body);
        }
    }
}
