/* Questions to the JetStream API, for everything that provisions: a queue of them, of which a
 * bounded number is under way. The daemons' asker puts them through the pipeline and never waits;
 * a command's asker blocks in asker_run, one question at a time. Whoever asks need not know
 * which. */
#ifndef AX_BUS_PROVISION_ASKER_H
#define AX_BUS_PROVISION_ASKER_H

#include <jansson.h>
#include <stdbool.h>

#include "bus/api.h"
#include "bus/loop.h"
#include "bus/pipeline.h"

#define ASKER_TIMEOUT_MS 5000

/* A request that blocks; payload (NULL: none) is taken. *root: see api_read. */
typedef void (*asker_request)(void *arg, const char *what, json_t *payload, struct api_answer *out,
                              json_t **root);

struct asker_question;

struct asker {
    struct pipeline *pipeline; /* of a daemon; NULL: a command */
    struct loop *loop;
    asker_request request; /* of a command */
    void *request_arg;
    struct asker_question *waiting;
    int under_way;
    bool stopped;
    struct loop_timer timer;
    void (*rest)(void *arg); /* command: what goes on after the pause; NULL: no pause */
    void *rest_arg;
    int64_t rest_ms;
};

/* p, l: borrowed for the life of a. */
void asker_init(struct asker *a, struct pipeline *p, struct loop *l);
/* Nothing is asked outside asker_run. */
void asker_init_blocking(struct asker *a, asker_request request, void *arg);

/* what: the subject behind "$JS.API."; payload (NULL: none) is taken. cb is called once, and before
 * asker_ask returns where nothing can be sent. A daemon's: loop's lock held. */
void asker_ask(struct asker *a, const char *what, json_t *payload, api_cb cb, void *arg);
/* Calls then after a pause; one at a time. */
void asker_rest(struct asker *a, int64_t ms, void (*then)(void *arg), void *arg);

/* A command's: asks and waits until there is no question and no pause left. */
void asker_run(struct asker *a);
/* A daemon's: no further question leaves; those not asked yet are never answered. */
void asker_stop(struct asker *a);

#endif
