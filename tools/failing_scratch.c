/* Preloaded by failing_allocations.py: refuses one request for scratch memory of aten's own.

   Requests are those whose caller lies in a compiled module of aten; all others are passed
   on. Counted in the whole process, so that requests of the threads count as well. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static long requests = 0;
static long until_refusal = 0;
static __thread int looking = 0;

long aten_scratch_requests(void) { return __atomic_load_n(&requests, __ATOMIC_SEQ_CST); }

/* Refuse the `count`-th request from now on, 0: none; gives how many were to come before it. */
long aten_refuse_scratch(long count)
{
    return __atomic_exchange_n(&until_refusal, count, __ATOMIC_SEQ_CST);
}

/* Modules lie in their packages, or, of an editable build, side by side in its src/aten. */
static int is_of_aten(const char *path)
{
    const char *built = strstr(path, "/src/aten/");
    return strstr(path, "aten/_core/") || strstr(path, "aten/backends/cpu/kernels/")
        || (built && !strchr(built + strlen("/src/aten/"), '/'));
}

static int refuses(void *caller)
{
    Dl_info info;
    int ours;
    if (looking) return 0;
    looking = 1;
    ours = dladdr(caller, &info) && info.dli_fname && is_of_aten(info.dli_fname)
        /* Blocks of tensors have a refusal of their own. */
        && !strstr(info.dli_fname, "/allocator.") && !strstr(info.dli_fname, "/guard.");
    looking = 0;
    if (!ours) return 0;
    __atomic_add_fetch(&requests, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&until_refusal, __ATOMIC_SEQ_CST) > 0
        && __atomic_sub_fetch(&until_refusal, 1, __ATOMIC_SEQ_CST) == 0;
}

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
