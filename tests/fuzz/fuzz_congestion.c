/* What is heard on ax.refused.> and ax.held.>: anyone may publish there. The subject up to the
 * first NUL byte, then the message, read as both. What is accepted must come back the same from its
 * own bytes. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "task/congestion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    struct refused r, r2;
    struct held h, h2;
    uint8_t buf[REFUSED_MAX_BYTES];
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    if (nul != NULL) {
        if (congestion_parse_subject((const char *)data, REFUSED_PREFIX, priority, pool) ||
            congestion_parse_subject((const char *)data, OCCUPANCY_PREFIX, priority, pool))
            CHECK(name_is_valid(priority) && name_is_valid(pool));
        size -= (size_t)(nul + 1 - data);
        data = nul + 1;
    }
    if (refused_unpack(&r, data, size) == AX_OK) {
        CHECK(strlen(r.group) <= GROUP_MAX_BYTES);
        size_t bytes = refused_pack(&r, buf);
        CHECK(bytes <= sizeof(buf) && refused_unpack(&r2, buf, bytes) == AX_OK);
        CHECK(strcmp(r.group, r2.group) == 0 && r.count == r2.count);
    }
    if (occupancy_unpack(&h, data, size) == AX_OK) {
        size_t bytes;
        CHECK(h.count <= OCCUPANCY_GROUPS_MAX);
        uint8_t *again = occupancy_pack(&h, &bytes);
        CHECK(again != NULL && occupancy_unpack(&h2, again, bytes) == AX_OK &&
              h2.count == h.count && h2.others == h.others);
        for (size_t i = 0; i < h.count; i++) {
            CHECK(strcmp(h.groups[i].group, h2.groups[i].group) == 0 &&
                  h.groups[i].held == h2.groups[i].held);
        }
        free(again);
        held_clear(&h);
        held_clear(&h2);
    } else {
        CHECK(h.groups == NULL);
    }
    return 0;
}
