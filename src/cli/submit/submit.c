#include "cli/submit/submit.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/text/duration.h"
#include "bus/jserr.h"
#include "cli/streams/stored.h"
#include "cli/submit/answer_text.h"

#define RETRY_AFTER_DEFAULT_MS 250
#define RETRY_AFTER_MAX_MS 60000

/* "Name: value" as in curl and in nats pub -H. */
static bool add_header(natsMsg *msg, const char *line)
{
    char name[256];
    const char *colon = strchr(line, ':');
    if (!colon || colon == line || (size_t)(colon - line) >= sizeof(name))
        return false;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - line), line);
    const char *value = colon + 1;
    value += strspn(value, " ");
    return *value && natsMsgHeader_Add(msg, name, value) == NATS_OK;
}

static bool set_headers(natsMsg *msg, const struct submit_flags *f, const char *key)
{
    const struct {
        const char *name, *value;
    } headers[] = {
        {HDR_MSG_ID, key},         {HDR_MAX_RETRY, f->max_retry},
        {HDR_BACKOFF, f->backoff}, {HDR_DELAY, f->delay},
        {HDR_AT, f->at},           {HDR_EXPIRES, f->expires},
        {HDR_CRON, f->cron},       {HDR_TIME_ZONE, f->time_zone},
        {HDR_OVERLAP, f->overlap}, {HDR_TIMEOUT, f->timeout},
        {HDR_GROUP, f->group},     {HDR_ORDERED, f->ordered ? "true" : NULL},
    };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (headers[i].value != NULL &&
            natsMsgHeader_Set(msg, headers[i].name, headers[i].value) != NATS_OK) {
            say(CLI_FAILED,
                "the headers of the task cannot be made (out of memory, or an empty value)");
            return false;
        }
    }
    return true;
}

static bool add_headers(natsMsg *msg, const struct flag_list *headers)
{
    for (int i = 0; i < headers->count; i++) {
        if (!add_header(msg, headers->values[i])) {
            say(CLI_USAGE, "--header: %s given, allowed is Name:value", headers->values[i]);
            return false;
        }
    }
    return true;
}

natsMsg *submit_message(const struct submit_flags *f, const char *key, const void *body,
                        size_t bytes, const char *reply)
{
    char subject[SUBJECT_MAX_CHARS];
    natsMsg *msg = NULL;
    snprintf(subject, sizeof(subject), SUBMIT_PREFIX "%s.%s", f->priority, f->pool);
    if (natsMsg_Create(&msg, subject, reply, body, (int)bytes) != NATS_OK) {
        say(CLI_FAILED, "%s", ax_err_text(AX_E_NOMEM));
        return NULL;
    }
    if (set_headers(msg, f, key) && add_headers(msg, &f->headers))
        return msg;
    natsMsg_Destroy(msg);
    return NULL;
}

static const char *text_of(const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));
    return s != NULL ? s : "";
}

static void read_error(struct submit_answer *a, const json_t *error, natsMsg *reply)
{
    int err_code = (int)json_integer_value(json_object_get(error, "err_code"));
    int code = (int)json_integer_value(json_object_get(error, "code"));
    bool busy = code == 503;
    /* JetStream did not answer ingress: the task may be stored and may be not. */
    bool unknown = busy && err_code == JSERR_JS_UNAVAILABLE;
    a->outcome = unknown ? SUBMIT_UNANSWERED : busy ? SUBMIT_BUSY : SUBMIT_REFUSED;
    a->code = code;
    a->err_code = err_code;
    answer_text_for_people(text_of(error, "description"), a->description, sizeof(a->description));
    const char *hint = stored_header(reply, HDR_RETRY_AFTER);
    if (hint == NULL || !duration_parse(hint, RETRY_AFTER_MAX_MS, &a->retry_after_ms))
        a->retry_after_ms = RETRY_AFTER_DEFAULT_MS;
}

static void read_accepted(struct submit_answer *a, const json_t *root)
{
    bool duplicate = json_is_true(json_object_get(root, "duplicate"));
    a->outcome = duplicate ? SUBMIT_DUPLICATE : SUBMIT_ACCEPTED;
    snprintf(a->id, sizeof(a->id), "%s", text_of(root, "task"));
    snprintf(a->state, sizeof(a->state), "%s", text_of(root, "state"));
    snprintf(a->stream, sizeof(a->stream), "%s", text_of(root, "stream"));
    a->seq = (uint64_t)json_integer_value(json_object_get(root, "seq"));
}

void submit_parse(struct submit_answer *a, natsMsg *reply)
{
    *a = (struct submit_answer){.outcome = SUBMIT_UNANSWERED};
    json_t *root = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0,
                              NULL);
    const json_t *error = json_object_get(root, "error");
    if (natsMsg_IsNoResponders(reply)) {
        a->nobody = true;
    } else if (root == NULL) {
        a->outcome = SUBMIT_REFUSED;
        snprintf(a->description, sizeof(a->description),
                 "the answer is not JSON; who listens on ax.submit.>?");
    } else if (error != NULL) {
        read_error(a, error, reply);
    } else {
        read_accepted(a, root);
    }
    json_decref(root);
}
