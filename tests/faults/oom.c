/* A library to preload: counts the allocations that AX's own code, or one of its libraries, makes,
 * and refuses the nth.
 *
 * AX_OOM_CONTROL names a file, mapped by this process and by the test, which arms and reads it
 * while the process runs (struct control below; tests/system/oom.py has the same layout). Who
 * allocates is told by the caller's address. What glibc allocates for itself is not counted. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum source { AX, NATS, JANSSON, PROTOBUF, BLOOM, CRYPTO, SOURCES };
enum mode { OFF, COUNT, FAIL };

static const char *const names[SOURCES] = {"",         "libnats",  "libjansson", "libprotobuf-c",
                                           "libbloom", "libcrypto"};

struct control {
    atomic_uint mode;
    uint32_t source;               /* FAIL: whose */
    int64_t nth;                   /* FAIL: the first one refused, from 1 */
    int64_t length;                /* FAIL: how many in a row */
    atomic_llong counted[SOURCES]; /* since the test cleared them */
    atomic_llong failed;
    uint64_t where; /* of the first refused: address within the caller's file */
};

#define RANGES_MAX 64
static struct range {
    uintptr_t from, to, base;
    enum source source;
} ranges[RANGES_MAX];
static int range_count;
static struct control *control;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *p);

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    enum source s = SOURCES;
    if (info->dlpi_name[0] == '\0')
        s = AX;
    for (int i = NATS; i < SOURCES && s == SOURCES; i++) {
        if (strstr(info->dlpi_name, names[i]) != NULL)
            s = (enum source)i;
    }
    for (int i = 0; s != SOURCES && i < info->dlpi_phnum && range_count < RANGES_MAX; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) != 0)
            ranges[range_count++] = (struct range){from, from + h->p_memsz, info->dlpi_addr, s};
    }
    return 0;
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("AX_OOM_CONTROL");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    dl_iterate_phdr(on_object, NULL);
    if (fd < 0)
        return;
    void *m = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (m != MAP_FAILED)
        control = m;
}

static bool refused(void *caller)
{
    struct control *c = control;
    uintptr_t at = (uintptr_t)caller;
    unsigned mode = c != NULL ? atomic_load(&c->mode) : OFF;
    if (mode == OFF)
        return false;
    for (int i = 0; i < range_count; i++) {
        const struct range *r = &ranges[i];
        if (at < r->from || at >= r->to)
            continue;
        long long n = atomic_fetch_add(&c->counted[r->source], 1) + 1;
        if (mode != FAIL || c->source != r->source || n < c->nth || n >= c->nth + c->length)
            return false;
        if (atomic_fetch_add(&c->failed, 1) == 0)
            c->where = at - r->base;
        errno = ENOMEM;
        return true;
    }
    return false;
}

void *malloc(size_t bytes)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_realloc(p, bytes);
}

void free(void *p)
{
    __libc_free(p);
}

void *memalign(size_t alignment, size_t bytes)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *p = refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

char *strndup(const char *s, size_t most)
{
    size_t n = strnlen(s, most);
    char *copy = refused(__builtin_return_address(0)) ? NULL : __libc_malloc(n + 1);
    if (copy == NULL)
        return NULL;
    copy[n] = '\0';
    return memcpy(copy, s, n);
}

char *strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = refused(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
    return copy != NULL ? memcpy(copy, s, n) : NULL;
}
