#include "task/names.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text/quote.h"

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool name_is_valid_n(const char *s, size_t n)
{
    if (n == 0 || n > NAME_MAX_CHARS)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_alnum(s[i]) && s[i] != '_' && s[i] != '-')
            return false;
    }
    return true;
}

bool name_is_valid(const char *s)
{
    return name_is_valid_n(s, strnlen(s, NAME_MAX_CHARS + 1));
}

bool name_is_task_id(const char *s)
{
    size_t n = strnlen(s, TASK_ID_CHARS + 1);
    if (n == 0 || n > TASK_ID_CHARS)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_alnum(s[i]))
            return false;
    }
    return true;
}

bool name_is_keyed(const char *id)
{
    return strlen(id) == TASK_ID_CHARS;
}

static ax_err bad_name(struct problem *p, const char *what, const char *s, size_t n)
{
    char quoted[QUOTE_MAX];
    return problem_set(p, AX_E_INVALID,
                       "subject: %s %s is not a name; allowed are 1 to %d of A-Z a-z 0-9 _ -", what,
                       quote_bytes(s, n, quoted), NAME_MAX_CHARS);
}

ax_err name_parse_submit(const char *subject, char priority[NAME_MAX_CHARS + 1],
                         char pool[NAME_MAX_CHARS + 1], struct problem *p)
{
    size_t prefix = strlen(SUBMIT_PREFIX);
    const char *rest = subject + prefix;
    const char *dot = NULL;
    size_t bytes = 0;
    if (strncmp(subject, SUBMIT_PREFIX, prefix) == 0) {
        bytes = strlen(rest);
        dot = memchr(rest, '.', bytes);
    }
    if (bytes == 0 || (dot && strchr(dot + 1, '.'))) {
        char quoted[QUOTE_MAX];
        return problem_set(p, AX_E_INVALID,
                           "subject %s is neither " SUBMIT_PREFIX "<priority> nor " SUBMIT_PREFIX
                           "<priority>.<pool>",
                           quote_text(subject, quoted));
    }
    size_t priority_len = dot ? (size_t)(dot - rest) : bytes;
    const char *pool_name = dot ? dot + 1 : DEFAULT_POOL;
    size_t pool_len = strlen(pool_name);
    if (!name_is_valid_n(rest, priority_len))
        return bad_name(p, "priority", rest, priority_len);
    if (!name_is_valid_n(pool_name, pool_len))
        return bad_name(p, "pool", pool_name, pool_len);
    memcpy(priority, rest, priority_len);
    priority[priority_len] = '\0';
    memcpy(pool, pool_name, pool_len + 1);
    return AX_OK;
}

void name_pool_of_submit(const char *subject, char pool[NAME_MAX_CHARS + 1])
{
    size_t prefix = strlen(SUBMIT_PREFIX);
    const char *dot = strncmp(subject, SUBMIT_PREFIX, prefix) == 0 ? strchr(subject + prefix, '.')
                                                                   : NULL;
    pool[0] = '\0';
    if (dot != NULL && name_is_valid(dot + 1))
        strcpy(pool, dot + 1);
}

/* Takes the token at *s (up to '.' or the end) and moves *s behind it; NULL afterwards means the
 * end. */
static size_t next_token(const char **s, const char **token)
{
    *token = *s;
    const char *dot = strchrnul(*s, '.');
    size_t n = (size_t)(dot - *s);
    *s = *dot ? dot + 1 : NULL;
    return n;
}

static bool take_name(const char **s, char *out)
{
    const char *token;
    if (!*s)
        return false;
    size_t n = next_token(s, &token);
    if (!name_is_valid_n(token, n))
        return false;
    memcpy(out, token, n);
    out[n] = '\0';
    return true;
}

bool name_parse_task_subject(const char *subject, struct task_subject *out)
{
    static const struct {
        const char *name;
        bool has_priority;
    } stages[] = {{"queue", true}, {"work", false}, {"later", true},
                  {"due", true},   {"spill", true}, {"dead", false}};

    if (strncmp(subject, "ax.", 3) != 0)
        return false;
    const char *s = subject + 3;
    const char *token;
    size_t n = next_token(&s, &token);
    for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
        if (strlen(stages[i].name) != n || memcmp(stages[i].name, token, n) != 0)
            continue;
        strcpy(out->stage, stages[i].name);
        out->priority[0] = '\0';
        return (!stages[i].has_priority || take_name(&s, out->priority)) &&
               take_name(&s, out->pool) && take_name(&s, out->id) && !s && name_is_task_id(out->id);
    }
    return false;
}

size_t name_subject(char *out, const char *stage, const char *priority, const char *pool,
                    const char *id)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, "ax.%s.%s.%s.%s", stage, priority, pool, id);
}

size_t name_subject_work(char *out, const char *pool, const char *id)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, "ax.work.%s.%s", pool, id);
}

size_t name_subject_dead(char *out, const char *pool, const char *id)
{
    return (size_t)snprintf(out, SUBJECT_MAX_CHARS, "ax.dead.%s.%s", pool, id);
}

/* Fetched once: looking the algorithm up costs OpenSSL 3 more than hashing a key. */
static EVP_MD *sha256;

static void fetch_sha256(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void name_task_id(const char *pool, const void *key, size_t key_bytes, char out[TASK_ID_CHARS + 1])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fetch_sha256);

    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int digest_bytes = 0;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    /* The pool's NUL is the separator. */
    if (ctx == NULL || sha256 == NULL || !EVP_DigestInit_ex2(ctx, sha256, NULL) ||
        !EVP_DigestUpdate(ctx, pool, strlen(pool) + 1) || !EVP_DigestUpdate(ctx, key, key_bytes) ||
        !EVP_DigestFinal_ex(ctx, digest, &digest_bytes)) {
        /* Any made-up id would break the promise that one key is one task. */
        memory_fatal("SHA-256 of a key (or OpenSSL has none)");
    }
    EVP_MD_CTX_free(ctx);
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < TASK_ID_CHARS / 2; i++) {
        out[2 * i] = hex[digest[i] >> 4];
        out[2 * i + 1] = hex[digest[i] & 15];
    }
    out[TASK_ID_CHARS] = '\0';
}

void name_new_id(char out[TASK_ID_CHARS + 1])
{
    random_name(out, KEYLESS_ID_CHARS);
}
