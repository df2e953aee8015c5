#include "ingress/later_rearm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/header.h"
#include "task/names.h"

static bool is_of_one_publish(const char *name)
{
    return strncmp(name, "Nats-Expected-", strlen("Nats-Expected-")) == 0 ||
           strcmp(name, HDR_MSG_ID) == 0;
}

static natsStatus copy_header(natsMsg *from, const char *name, natsMsg *to)
{
    const char **values = NULL;
    int count = 0;
    natsStatus s = natsMsgHeader_Values(from, name, &values, &count);
    for (int i = 0; i < count && s == NATS_OK; i++)
        s = natsMsgHeader_Add(to, name, values[i]);
    free((void *)values);
    return s;
}

ax_err later_rearm_msg(const struct stored_msg *found, const char *reply, uint64_t last_seq,
                       natsMsg **out)
{
    const char **names = NULL;
    char expected[24];
    int count = 0;
    natsStatus s = natsMsg_Create(out, found->subject, reply, natsMsg_GetData(found->msg),
                                  natsMsg_GetDataLength(found->msg));
    if (s == NATS_OK)
        s = natsMsgHeader_Keys(found->msg, &names, &count);
    for (int i = 0; i < count && s == NATS_OK; i++) {
        if (!is_of_one_publish(names[i]))
            s = copy_header(found->msg, names[i], *out);
    }
    free((void *)names);
    snprintf(expected, sizeof(expected), "%" PRIu64, last_seq);
    if (s == NATS_OK)
        s = header_set(*out, HDR_EXPECT_SUBJECT_SEQ, expected);
    if (s == NATS_OK)
        return AX_OK;
    natsMsg_Destroy(*out);
    *out = NULL;
    return AX_E_NOMEM;
}
