/* How large the processor's caches are. */

#ifndef ATEN_CACHE_SIZES
#define ATEN_CACHE_SIZES

#include <unistd.h>

/* Bytes of the second cache, which each core has for itself; 0 where the system does not say. */
static inline long aten_second_cache(void)
{
#ifdef _SC_LEVEL2_CACHE_SIZE
    const long found = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return found > 0 ? found : 0;
#else
    return 0;
#endif
}

#endif
