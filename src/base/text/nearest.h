/* "Did you mean": the word that a mistyped one was meant to be. Pure. */
#ifndef AX_BASE_TEXT_NEAREST_H
#define AX_BASE_TEXT_NEAREST_H

#include <stddef.h>

/* Set word, then offer what is allowed; found is the nearest of it, NULL: nothing is near. */
struct nearest {
    const char *word;  /* borrowed */
    const char *found; /* borrowed from what was offered */
    size_t distance;   /* of found */
};
/* Of words equally near the first one stays; capitals count as small letters. candidate: borrowed
 * while n is used. */
void nearest_offer(struct nearest *n, const char *candidate);
/* The same with each of "low|high". buf: a copy of what is found, borrowed while n is used. */
void nearest_offer_words(struct nearest *n, const char *words, char *buf, size_t cap);
/* "; did you mean ls?", or "" where nothing is near. Returns buf. */
char *nearest_text(const struct nearest *n, const char *prefix, char *buf, size_t cap);

#endif
