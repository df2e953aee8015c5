/* What is heard on ax.refused.> and ax.held.>: anyone may publish there. The subject up to the
 * first NUL byte, then the message, read as both. What is accepted must come back the same from its
 * own bytes. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "task/peer/congestion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char priority[NAME_MAX_CHARS + 1], pool[NAME_MAX_CHARS + 1];
    struct congestion_refusal r, r2;
    struct congestion_occupancy h, h2;
    uint8_t buf[CONGESTION_REFUSAL_MAX_BYTES];
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    if (nul != NULL) {
        if (congestion_parse_subject((const char *)data, CONGESTION_REFUSED_PREFIX, priority,
                                     pool) ||
            congestion_parse_subject((const char *)data, CONGESTION_OCCUPANCY_PREFIX, priority,
                                     pool))
            CHECK(name_is_valid(priority) && name_is_valid(pool));
        size -= (size_t)(nul + 1 - data);
        data = nul + 1;
    }
    if (congestion_unpack_refusal(&r, data, size) == AX_OK) {
        CHECK(strlen(r.group) <= GROUP_MAX_BYTES);
        size_t bytes = congestion_pack_refusal(&r, buf);
        CHECK(bytes <= sizeof(buf) && congestion_unpack_refusal(&r2, buf, bytes) == AX_OK);
        CHECK(strcmp(r.group, r2.group) == 0 && r.count == r2.count);
    }
    if (congestion_unpack_occupancy(&h, data, size) == AX_OK) {
        size_t bytes;
        CHECK(h.count <= CONGESTION_GROUPS_MAX);
        uint8_t *again = congestion_pack_occupancy(&h, &bytes);
        CHECK(again != NULL && congestion_unpack_occupancy(&h2, again, bytes) == AX_OK &&
              h2.count == h.count && h2.others == h.others);
        for (size_t i = 0; i < h.count; i++) {
            CHECK(strcmp(h.groups[i].group, h2.groups[i].group) == 0 &&
                  h.groups[i].tasks == h2.groups[i].tasks);
        }
        free(again);
        congestion_clear_occupancy(&h);
        congestion_clear_occupancy(&h2);
    } else {
        CHECK(h.groups == NULL);
    }
    return 0;
}
