/* What arrives for `ax work`: nats.c's threads put it in, the one loop takes it out, in the order
 * of arrival. */
#ifndef AX_CLI_WORK_MAILBOX_H
#define AX_CLI_WORK_MAILBOX_H

#include <nats/nats.h>
#include <pthread.h>
#include <stdbool.h>

enum mail_kind { MAIL_PULL, MAIL_CONTROL, MAIL_REVOKE, MAIL_RECONNECTED };

struct mail {
    struct mail *prev, *next; /* utlist */
    enum mail_kind kind;
    natsMsg *msg; /* owned; NULL for MAIL_RECONNECTED, and when the taker has taken it out */
};
struct mailbox {
    pthread_mutex_t lock;
    struct mail *list; /* oldest first */
    int fd;            /* eventfd, readable when there is mail */
};
/* The closure of a subscription. */
struct mailbox_slot {
    struct mailbox *box; /* borrowed */
    enum mail_kind kind;
};

/* False: errno. */
bool mailbox_init(struct mailbox *box);
/* Takes msg (may be NULL). Any thread. Out of memory: msg is lost, as if the network had lost it.
 */
void mailbox_put(struct mailbox *box, enum mail_kind kind, natsMsg *msg);
/* nats.c callback; closure: a struct mailbox_slot. Takes msg. */
void mailbox_on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure);
/* Everything that has arrived, a utlist; NULL: nothing. The caller frees each with
 * mailbox_free_mail. The loop's thread. */
struct mail *mailbox_take(struct mailbox *box);
void mailbox_free_mail(struct mail *m);

#endif
