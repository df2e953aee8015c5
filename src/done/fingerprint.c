#include "done/fingerprint.h"

#include <string.h>

#include "base/random.h"

static uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

uint64_t fingerprint_seed(void)
{
    return random_u64();
}

uint64_t fingerprint_of(uint64_t seed, const char *id)
{
    size_t length = strlen(id);
    uint64_t h = seed ^ length, word;
    for (; length >= sizeof(word); length -= sizeof(word), id += sizeof(word)) {
        memcpy(&word, id, sizeof(word));
        h = mix(h ^ word);
    }
    if (length > 0) {
        word = 0;
        memcpy(&word, id, length);
        h = mix(h ^ word);
    }
    return h != 0 ? h : 1;
}
