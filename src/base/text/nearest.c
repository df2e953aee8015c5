#include "base/text/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 48

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Single insertions, deletions, replacements and swaps of neighbours that lead from a to b. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t d[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= a_len; i++)
        d[i][0] = i;
    for (size_t k = 0; k <= b_len; k++)
        d[0][k] = k;
    for (size_t i = 1; i <= a_len; i++) {
        for (size_t k = 1; k <= b_len; k++) {
            size_t replaced = d[i - 1][k - 1] + !is_same(a[i - 1], b[k - 1]);
            d[i][k] = least(replaced, least(d[i - 1][k], d[i][k - 1]) + 1);
            if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) && is_same(a[i - 2], b[k - 1]))
                d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
        }
    }
    return d[a_len][b_len];
}

/* A typing error in a short word leaves little of it. */
static size_t allowed(size_t length)
{
    return length < 3 ? 0 : length < 5 ? 1 : length < 9 ? 2 : 3;
}

void nearest_offer_words(struct nearest *n, const char *words, char *buf, size_t cap)
{
    size_t chars;
    for (const char *w = words; w != NULL && *w != '\0'; w += chars + (w[chars] == '|')) {
        char word[WORD_MAX + 1];
        struct nearest other = *n;
        chars = strcspn(w, "|");
        snprintf(word, sizeof(word), "%.*s", (int)chars, w);
        nearest_offer(&other, word);
        if (other.found != word)
            continue;
        snprintf(buf, cap, "%s", word);
        n->found = buf;
        n->distance = other.distance;
    }
}

void nearest_offer(struct nearest *n, const char *candidate)
{
    size_t a_len = strlen(n->word), b_len = strlen(candidate);
    if (a_len > WORD_MAX || b_len > WORD_MAX)
        return;
    size_t far = distance(n->word, a_len, candidate, b_len);
    if (far > allowed(a_len > b_len ? a_len : b_len) || (n->found != NULL && far >= n->distance))
        return;
    n->found = candidate;
    n->distance = far;
}

char *nearest_text(const struct nearest *n, const char *prefix, char *buf, size_t cap)
{
    if (n->found == NULL)
        snprintf(buf, cap, "%s", "");
    else
        snprintf(buf, cap, "; did you mean %s%s?", prefix, n->found);
    return buf;
}
