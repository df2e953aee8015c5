/* What is heard on ax.acked.>: anyone may publish there. What is accepted must come back the same
 * from its own bytes. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "task/peer/unrecorded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unrecorded_attempt *list, *again;
    size_t count, bytes, count_again;
    if (unrecorded_unpack(&list, &count, data, size) != AX_OK) {
        CHECK(list == NULL && count == 0);
        return 0;
    }
    CHECK(count <= UNRECORDED_MAX);
    uint8_t *packed = unrecorded_pack(list, count, &bytes);
    CHECK(packed != NULL && unrecorded_unpack(&again, &count_again, packed, bytes) == AX_OK &&
          count_again == count);
    for (size_t i = 0; i < count; i++) {
        CHECK(name_is_task_id(list[i].task) && list[i].attempt > 0 && list[i].fence > 0);
        CHECK(strcmp(list[i].task, again[i].task) == 0 && list[i].attempt == again[i].attempt &&
              list[i].fence == again[i].fence);
    }
    free(packed);
    free(again);
    free(list);
    return 0;
}
