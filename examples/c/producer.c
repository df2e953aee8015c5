/* Submits one task: producer POOL KEY BODY. A plain JetStream publish, nothing of AX is linked.
 * cc -o producer producer.c -lnats */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *url = getenv("NATS_URL");
    natsConnection *nc = NULL;
    jsCtx *js = NULL;
    jsPubOptions options;
    char subject[128];

    if (argc != 4 || natsConnection_ConnectTo(&nc, url ? url : NATS_DEFAULT_URL) != NATS_OK ||
        natsConnection_JetStream(&js, nc, NULL) != NATS_OK)
        return 1;
    snprintf(subject, sizeof(subject), "ax.submit.high.%s", argv[1]);
    jsPubOptions_Init(&options);
    /* the idempotency key: again, today or in six days, it starts nothing new */
    options.MsgId = argv[2];
    for (;;) {
        jsPubAck *ack = NULL;
        jsErrCode code = 0;
        if (js_Publish(&ack, js, subject, argv[3], (int)strlen(argv[3]), &options, &code) ==
            NATS_OK) {
            printf("stream=%s seq=%llu duplicate=%s\n", ack->Stream,
                   (unsigned long long)ack->Sequence, ack->Duplicate ? "true" : "false");
            jsPubAck_Destroy(ack);
            break;
        }
        const char *why = nats_GetLastError(NULL), *hint = strstr(why, "retry in ");
        fprintf(stderr, "err_code=%d %s\n", (int)code, why);
        if (code != 0 && hint == NULL)
            return 1; /* the task itself is wrong, sending it again cannot help */
        if (hint != NULL) {
            /* code 0: no word in time, the same key again is safe */
            nats_Sleep(atoi(hint + strlen("retry in ")));
        }
    }
    jsCtx_Destroy(js);
    natsConnection_Destroy(nc);
    return 0;
}
