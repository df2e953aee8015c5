#include "cli/work/mailbox.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <utlist.h>

bool mailbox_init(struct mailbox *box)
{
    *box = (struct mailbox){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return box->fd >= 0 && pthread_mutex_init(&box->lock, NULL) == 0;
}

void mailbox_put(struct mailbox *box, enum mail_kind kind, natsMsg *msg)
{
    struct mail *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        /* An attempt is handed over again when its lease has expired, an ack is repeated. */
        natsMsg_Destroy(msg);
        return;
    }
    m->kind = kind;
    m->msg = msg;
    pthread_mutex_lock(&box->lock);
    DL_APPEND(box->list, m);
    pthread_mutex_unlock(&box->lock);
    eventfd_write(box->fd, 1);
}

void mailbox_on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure)
{
    (void)nc;
    (void)sub;
    struct mailbox_slot *slot = closure;
    mailbox_put(slot->box, slot->kind, msg);
}

struct mail *mailbox_take(struct mailbox *box)
{
    eventfd_t n;
    eventfd_read(box->fd, &n);
    pthread_mutex_lock(&box->lock);
    struct mail *all = box->list;
    box->list = NULL;
    pthread_mutex_unlock(&box->lock);
    return all;
}

void mailbox_free_mail(struct mail *m)
{
    natsMsg_Destroy(m->msg);
    free(m);
}
