# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""The thread pool.

A range of work is parted into one region for each thread, always the same ones for the same range,
so that what a processor's cache holds from one operator is there for the next. Threads claim their
region chunk by chunk and then help with the regions of the others. The caller works, too, and never
waits for a worker that has not begun: when workers are slow to wake, or the machine is busy, it
simply does more of the chunks itself. One job runs at a time; a call from inside a task, or from a
second Python thread meanwhile, runs on its own thread alone. After a fork the child starts afresh.

Every other large job walks its regions from the end: it begins with what the job before touched
last, so of operands larger than a cache as much as the cache holds is found there. Walking always
the same way would find nothing: each line is dropped shortly before its turn. Small jobs always
walk from the start: what a thread takes from another's region is then always the same, and stays
in its cache.

Handing a job to workers that poll takes no lock. Both sides write, then read what the other wrote,
in sequentially consistent order, so one of them sees the other: a worker counts itself inside and
then looks whether there is a job; the caller takes the job away and then waits for nobody to be
inside. A worker says that it sleeps and then looks for a job; the caller publishes and then looks
for sleepers.

What a chunk computes must not depend on how the range was cut, so results do not either.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from aten._core.threads.cost cimport clock

cdef extern from *:
    """
    #include <sched.h>
    #include <unistd.h>
    static __thread int aten_inside_task = 0;
    static void aten_leave_processor(int processor) {
        cpu_set_t allowed;
        if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0)
            return;
        CPU_CLR(processor, &allowed);
        if (CPU_COUNT(&allowed) > 0)
            sched_setaffinity(0, sizeof allowed, &allowed);
    }
    /* Vectors that compilers leave in the upper halves of registers make code slow that knows nothing
       of them, such as the C library's: on Intel's processors some forty times, in whatever this thread
       runs until somebody clears them. */
    static inline void aten_clear_upper_halves(void) {
    #if defined(__x86_64__)
        static int known;
        int found = __atomic_load_n(&known, __ATOMIC_RELAXED);
        if (found == 0) {
            __builtin_cpu_init();
            found = __builtin_cpu_supports("avx") ? 1 : -1;
            __atomic_store_n(&known, found, __ATOMIC_RELAXED);
        }
        if (found > 0)
            __asm__ volatile("vzeroupper");
    #endif
    }
    static inline void aten_pause(void) {
    #if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
    #endif
    }
    """
    int aten_inside_task
    void aten_pause() noexcept nogil
    void aten_clear_upper_halves() noexcept nogil
    void aten_leave_processor(int processor) noexcept nogil
    int64_t __atomic_fetch_add(int64_t*, int64_t, int) noexcept nogil
    int64_t __atomic_exchange_n(int64_t*, int64_t, int) noexcept nogil
    int64_t __atomic_load_n(int64_t*, int) noexcept nogil
    void __atomic_store_n(int64_t*, int64_t, int) noexcept nogil
    int __ATOMIC_RELAXED
    int __ATOMIC_ACQUIRE
    int __ATOMIC_RELEASE
    int __ATOMIC_SEQ_CST

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    int pthread_mutex_init(pthread_mutex_t*, void*)
    int pthread_mutex_lock(pthread_mutex_t*)
    int pthread_mutex_unlock(pthread_mutex_t*)
    int pthread_cond_init(pthread_cond_t*, void*)
    int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*)
    int pthread_cond_signal(pthread_cond_t*)
    int pthread_cond_broadcast(pthread_cond_t*)
    int pthread_atfork(void (*)() noexcept nogil, void (*)() noexcept nogil,
                       void (*)() noexcept nogil)

cdef extern from "pythread.h" nogil:
    # The interpreter's own, which needs no interpreter lock: the C library's has another version
    # since 2.34, and what is built against it runs on no older one.
    unsigned long PyThread_start_new_thread(void (*)(void*) noexcept nogil, void*)
    unsigned long PYTHREAD_INVALID_THREAD_ID

cdef extern from "<sched.h>" nogil:
    int sched_getcpu()

cdef enum:
    # A worker polls this long for the next job before it sleeps: waking up can take as long, and one
    # that woke too late for a job is then there for the next. Pauses differ tenfold between
    # processors, so time is looked at after every few.
    POLLING_NANOSECONDS = 1000000
    PAUSES = 32
    # Chunks of a region: enough to even out a slow thread, few enough to claim cheaply. Of a large
    # region more, enough to come back to what a cache holds.
    FEWEST_CHUNKS = 4
    MOST_CHUNKS = 16
    LARGE_CHUNK = 32768
    FEW_POINTS = 64
    MOST_THREADS = 256
    # Chunks of many points end where cache lines and pages do, if these are elements.
    LINE_POINTS = 16
    PAGE_POINTS = 1024

cdef struct Region:
    int64_t claimed         # chunks, by atomic addition
    int64_t chunks
    int64_t begin
    int64_t end
    int64_t padding[4]      # two regions do not share a cache line

cdef struct Job:
    Task task
    void* context
    int64_t chunk
    int64_t threads
    bint backwards

cdef struct Pool:
    # What the caller writes, and workers poll.
    int64_t generation
    int64_t open            # whether there is a job that workers may enter
    Job job
    int64_t padding[8]
    # What workers write, and the caller polls.
    int64_t inside          # workers that may be in the job
    int64_t sleeping
    int64_t other_padding[8]
    Region regions[MOST_THREADS]
    int64_t taken           # a caller has the pool, for a whole job
    int64_t caller_sleeps
    int64_t processor       # the caller's when it began
    int workers
    pthread_mutex_t lock    # for falling asleep and waking
    pthread_cond_t wake
    pthread_cond_t done

cdef Pool _pool
cdef int _threads = 0           # 0: not determined yet


cdef void _start_afresh() noexcept nogil:
    """Forget the workers and locks of before a fork."""
    memset(&_pool, 0, sizeof(Pool))
    pthread_mutex_init(&_pool.lock, NULL)
    pthread_cond_init(&_pool.wake, NULL)
    pthread_cond_init(&_pool.done, NULL)


cdef void _run_region(Job* job, Region* region) noexcept nogil:
    cdef int64_t begin, place
    while __atomic_load_n(&region.claimed, __ATOMIC_RELAXED) < region.chunks:
        place = __atomic_fetch_add(&region.claimed, 1, __ATOMIC_RELAXED)
        if place >= region.chunks:
            return
        if job.backwards:
            place = region.chunks - 1 - place
        begin = region.begin + place * job.chunk
        job.task(job.context, begin, min(begin + job.chunk, region.end))


cdef void _run_chunks(Job* job, int64_t place) noexcept nogil:
    """The region at `place`, then whatever the others have left."""
    cdef int64_t offset
    for offset in range(job.threads):
        _run_region(job, &_pool.regions[(place + offset) % job.threads])
    aten_clear_upper_halves()


cdef inline void _run_alone(Task task, void* context, int64_t total) noexcept nogil:
    task(context, 0, total)
    aten_clear_upper_halves()


cdef inline bint _await(int64_t* value, int64_t unwanted, bint equal) noexcept nogil:
    """Poll until `value` is no longer `unwanted` (or is, with `equal`); False when it took long."""
    cdef int64_t begun = clock()
    cdef int pause
    while True:
        for pause in range(PAUSES):
            if (__atomic_load_n(value, __ATOMIC_SEQ_CST) == unwanted) == equal:
                return True
            aten_pause()
        if clock() - begun > POLLING_NANOSECONDS:
            return False


cdef int64_t _sleep(int64_t seen) noexcept nogil:
    """Until there is another generation than `seen`, which is given; for workers."""
    cdef int64_t generation
    pthread_mutex_lock(&_pool.lock)
    __atomic_fetch_add(&_pool.sleeping, 1, __ATOMIC_SEQ_CST)
    generation = __atomic_load_n(&_pool.generation, __ATOMIC_SEQ_CST)
    while generation == seen:
        pthread_cond_wait(&_pool.wake, &_pool.lock)
        generation = __atomic_load_n(&_pool.generation, __ATOMIC_SEQ_CST)
    __atomic_fetch_add(&_pool.sleeping, -1, __ATOMIC_SEQ_CST)
    pthread_mutex_unlock(&_pool.lock)
    return generation


cdef void _step_aside() noexcept nogil:
    """Leave the caller's processor, where a worker would only be in its way.

    The kernel may take its time to part two threads of one process, and until then each waits for
    the other's time slices, whether it woke there or the caller came to where it polled.
    """
    cdef int processor = <int>__atomic_load_n(&_pool.processor, __ATOMIC_RELAXED)
    if sched_getcpu() == processor:
        aten_leave_processor(processor)


cdef void _enter(int64_t place) noexcept nogil:
    """Work on the job, if it is still there; for workers."""
    __atomic_fetch_add(&_pool.inside, 1, __ATOMIC_SEQ_CST)
    if __atomic_load_n(&_pool.open, __ATOMIC_SEQ_CST) and place < _pool.job.threads:
        _run_chunks(&_pool.job, place)
    if (__atomic_fetch_add(&_pool.inside, -1, __ATOMIC_SEQ_CST) == 1
            and __atomic_load_n(&_pool.caller_sleeps, __ATOMIC_SEQ_CST)):
        pthread_mutex_lock(&_pool.lock)
        pthread_cond_signal(&_pool.done)
        pthread_mutex_unlock(&_pool.lock)


cdef void _work(void* number) noexcept nogil:
    """A worker; `number`, from 1, is its place in every job."""
    global aten_inside_task
    cdef int64_t seen = 0
    aten_inside_task = 1
    while True:
        if _await(&_pool.generation, seen, False):
            seen = __atomic_load_n(&_pool.generation, __ATOMIC_ACQUIRE)
        else:
            seen = _sleep(seen)
        _step_aside()
        _enter(<int64_t>number)


cdef void _start_workers(int count) noexcept nogil:
    cdef void* number
    while _pool.workers < count:
        number = <void*><int64_t>(_pool.workers + 1)
        if PyThread_start_new_thread(_work, number) == PYTHREAD_INVALID_THREAD_ID:
            return
        _pool.workers += 1


cdef inline int64_t _aligned(int64_t points) noexcept nogil:
    """At least so many; many of them end where cache lines, and very many where pages do."""
    cdef int64_t unit = 1
    if points > 4 * PAGE_POINTS:
        unit = PAGE_POINTS
    elif points > 16 * LINE_POINTS:
        unit = LINE_POINTS
    return (points + unit - 1) // unit * unit


cdef void _part(int64_t total, int64_t grain) noexcept nogil:
    """Part [0, total) into regions of the same size, and these into chunks; the last ones may be
    short or empty."""
    cdef Job* job = &_pool.job
    cdef Region* region
    cdef int64_t each = (total + job.threads - 1) // job.threads
    cdef int64_t chunks, place
    cdef bint large = each > FEWEST_CHUNKS * LARGE_CHUNK
    job.backwards = large and not job.backwards
    chunks = FEWEST_CHUNKS
    if large:
        chunks = min(each // LARGE_CHUNK, MOST_CHUNKS)
    elif each <= FEW_POINTS:
        # Few of them are much each.
        chunks = MOST_CHUNKS
    job.chunk = _aligned(max((each + chunks - 1) // chunks, grain))
    each = _aligned(max(each, grain))
    for place in range(job.threads):
        region = &_pool.regions[place]
        region.claimed = 0
        region.begin = min(place * each, total)
        region.end = min(region.begin + each, total)
        region.chunks = (region.end - region.begin + job.chunk - 1) // job.chunk


cdef void _publish() noexcept nogil:
    __atomic_store_n(&_pool.processor, sched_getcpu(), __ATOMIC_RELAXED)
    __atomic_store_n(&_pool.open, 1, __ATOMIC_SEQ_CST)
    __atomic_fetch_add(&_pool.generation, 1, __ATOMIC_SEQ_CST)
    if __atomic_load_n(&_pool.sleeping, __ATOMIC_SEQ_CST) == 0:
        return
    pthread_mutex_lock(&_pool.lock)
    pthread_cond_broadcast(&_pool.wake)
    pthread_mutex_unlock(&_pool.lock)


cdef void _wait_for_workers() noexcept nogil:
    """Until all that have begun are done. Polling first: a caller that sleeps is woken on the
    processor of the worker it waited for."""
    if _await(&_pool.inside, 0, True):
        return
    pthread_mutex_lock(&_pool.lock)
    __atomic_store_n(&_pool.caller_sleeps, 1, __ATOMIC_SEQ_CST)
    while __atomic_load_n(&_pool.inside, __ATOMIC_SEQ_CST) > 0:
        pthread_cond_wait(&_pool.done, &_pool.lock)
    __atomic_store_n(&_pool.caller_sleeps, 0, __ATOMIC_SEQ_CST)
    pthread_mutex_unlock(&_pool.lock)


cdef void parallel_for(int64_t total, int64_t grain, Task task, void* context) noexcept nogil:
    """Run `task` over [0, total) in chunks of at least `grain`."""
    global aten_inside_task
    cdef Job* job = &_pool.job
    if total <= grain or aten_inside_task:
        _run_alone(task, context, total)
        return
    cdef int threads = min(thread_count(), MOST_THREADS)
    if threads <= 1 or __atomic_exchange_n(&_pool.taken, 1, __ATOMIC_ACQUIRE):
        _run_alone(task, context, total)
        return
    job.task = task
    job.context = context
    job.threads = threads
    _part(total, grain)
    _start_workers(threads - 1)
    _publish()
    aten_inside_task = 1
    _run_chunks(job, 0)
    aten_inside_task = 0
    # Whoever has not begun by now will not.
    __atomic_store_n(&_pool.open, 0, __ATOMIC_SEQ_CST)
    _wait_for_workers()
    __atomic_store_n(&_pool.taken, 0, __ATOMIC_RELEASE)


cdef int thread_count() noexcept nogil:
    if _threads == 0:
        with gil:
            _determine_threads()
    return _threads


cdef _determine_threads():
    """Errors are only shown where a loop asks: it goes on with one thread."""
    global _threads
    _threads = 1
    from aten._core.threads.processors import available_processors

    _threads = available_processors()


def get_num_threads():
    """How many threads one operator may use. Raises ValueError where ATEN_NUM_THREADS is wrong.

    Example:

        >>> aten.get_num_threads() >= 1
        True
    """
    global _threads
    if _threads == 0:
        from aten._core.threads.processors import available_processors

        _threads = available_processors()
    return _threads


def set_num_threads(int count):
    """Use at most `count` threads. Raises RuntimeError unless it is positive.

    Example:

        >>> aten.set_num_threads(aten.get_num_threads())
    """
    global _threads
    if count < 1:
        raise RuntimeError(f"Expected positive number of threads, got {count}")
    _threads = count


_start_afresh()
pthread_atfork(NULL, NULL, _start_afresh)
