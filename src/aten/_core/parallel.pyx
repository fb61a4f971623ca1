# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""The thread pool.

A range of work is parted into one region for each thread, always the same ones for the same range,
so that what a processor's cache holds from one operator is there for the next. Threads claim their
region chunk by chunk and then help with the regions of the others. The caller works, too, and never
waits for a worker that has not begun: when workers are slow to wake, or the machine is busy, it
simply does more of the chunks itself. One job runs at a time; a call from inside a task, or from a
second Python thread meanwhile, runs on its own thread alone. After a fork the child starts afresh.

What a chunk computes must not depend on how the range was cut, so results do not either.
"""

from libc.stdint cimport int64_t

from aten._core.cost cimport clock

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
    static inline void aten_pause(void) {
    #if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
    #endif
    }
    """
    int aten_inside_task
    void aten_pause() noexcept nogil
    void aten_leave_processor(int processor) noexcept nogil
    int64_t __atomic_fetch_add(int64_t*, int64_t, int) noexcept nogil
    int64_t __atomic_load_n(int64_t*, int) noexcept nogil
    int __ATOMIC_ACQ_REL
    int __ATOMIC_ACQUIRE

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_t:
        pass
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef struct pthread_attr_t:
        pass
    int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*) noexcept nogil, void*)
    int pthread_detach(pthread_t)
    int pthread_mutex_init(pthread_mutex_t*, void*)
    int pthread_mutex_lock(pthread_mutex_t*)
    int pthread_mutex_trylock(pthread_mutex_t*)
    int pthread_mutex_unlock(pthread_mutex_t*)
    int pthread_cond_init(pthread_cond_t*, void*)
    int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*)
    int pthread_cond_signal(pthread_cond_t*)
    int pthread_cond_broadcast(pthread_cond_t*)
    int pthread_atfork(void (*)() noexcept nogil, void (*)() noexcept nogil,
                       void (*)() noexcept nogil)

cdef extern from "<sched.h>" nogil:
    int sched_getcpu()

cdef enum:
    # A worker polls this long for the next job before it sleeps: waking up can take as long, and one
    # that woke too late for a job is then there for the next. Pauses differ tenfold between
    # processors, so time is looked at after every few.
    POLLING_NANOSECONDS = 1000000
    PAUSES = 32
    # Chunks of a region: enough to even out a slow thread, few enough to claim cheaply.
    CHUNKS_PER_REGION = 4
    MOST_THREADS = 256
    # Chunks of many points end where cache lines and vectors do.
    ALIGNED_POINTS = 1024

cdef struct Region:
    int64_t next_begin      # claimed by atomic addition
    int64_t end
    int64_t padding[6]      # two regions do not share a cache line

cdef struct Job:
    Task task
    void* context
    Region* regions
    int threads
    int64_t chunk
    int64_t active          # workers inside the job; changed under the pool's lock
    int processor           # the caller's when it began

cdef struct Pool:
    pthread_mutex_t submit      # held for a whole job
    pthread_mutex_t lock
    pthread_cond_t wake
    pthread_cond_t done
    Job* job
    int64_t generation
    int workers

cdef Pool _pool
cdef int _threads = 0           # 0: not determined yet


cdef void _start_afresh() noexcept nogil:
    """Forget the workers and locks of before a fork."""
    pthread_mutex_init(&_pool.submit, NULL)
    pthread_mutex_init(&_pool.lock, NULL)
    pthread_cond_init(&_pool.wake, NULL)
    pthread_cond_init(&_pool.done, NULL)
    _pool.job = NULL
    _pool.generation = 0
    _pool.workers = 0


cdef void _run_region(Job* job, Region* region) noexcept nogil:
    cdef int64_t begin, end
    while __atomic_load_n(&region.next_begin, __ATOMIC_ACQUIRE) < region.end:
        begin = __atomic_fetch_add(&region.next_begin, job.chunk, __ATOMIC_ACQ_REL)
        if begin >= region.end:
            return
        end = begin + job.chunk
        job.task(job.context, begin, end if end < region.end else region.end)


cdef void _run_chunks(Job* job, int place) noexcept nogil:
    """The region at `place`, then whatever the others have left."""
    cdef int offset
    for offset in range(job.threads):
        _run_region(job, &job.regions[(place + offset) % job.threads])


cdef inline bint _await(int64_t* value, int64_t unwanted, bint equal) noexcept nogil:
    """Poll until `value` is no longer `unwanted` (or is, with `equal`); False when it took long."""
    cdef int64_t begun = clock()
    cdef int pause
    while True:
        for pause in range(PAUSES):
            if (__atomic_load_n(value, __ATOMIC_ACQUIRE) == unwanted) == equal:
                return True
            aten_pause()
        if clock() - begun > POLLING_NANOSECONDS:
            return False


cdef void _step_aside(int processor) noexcept nogil:
    """Move to another processor than the caller's, where a worker would only be in its way.

    The kernel may take its time to part two threads of one process, and until then each waits for
    the other's time slices. Called, and left, with the pool locked.
    """
    pthread_mutex_unlock(&_pool.lock)
    aten_leave_processor(processor)
    pthread_mutex_lock(&_pool.lock)


cdef void* _work(void* number) noexcept nogil:
    """A worker; `number`, from 1, is its place in every job."""
    global aten_inside_task
    cdef int place = <int><int64_t>number
    cdef int64_t seen = 0
    cdef Job* job
    aten_inside_task = 1
    while True:
        _await(&_pool.generation, seen, False)
        pthread_mutex_lock(&_pool.lock)
        while _pool.generation == seen:
            pthread_cond_wait(&_pool.wake, &_pool.lock)
        if _pool.job != NULL and sched_getcpu() == _pool.job.processor:
            _step_aside(_pool.job.processor)
        seen = _pool.generation
        job = _pool.job
        if job == NULL or place >= job.threads:
            pthread_mutex_unlock(&_pool.lock)
            continue
        job.active += 1
        pthread_mutex_unlock(&_pool.lock)
        _run_chunks(job, place)
        pthread_mutex_lock(&_pool.lock)
        job.active -= 1
        if job.active == 0:
            pthread_cond_signal(&_pool.done)
        pthread_mutex_unlock(&_pool.lock)
    return NULL


cdef void _start_workers(int count) noexcept nogil:
    cdef pthread_t thread
    while _pool.workers < count:
        if pthread_create(&thread, NULL, _work, <void*><int64_t>(_pool.workers + 1)) != 0:
            return
        pthread_detach(thread)
        _pool.workers += 1


cdef void _part(Job* job, int64_t total, int64_t grain) noexcept nogil:
    """Part [0, total) into regions of whole chunks; the last ones may be short or empty."""
    cdef int64_t pieces = <int64_t>job.threads * CHUNKS_PER_REGION
    cdef int64_t region
    cdef int place
    job.chunk = max((total + pieces - 1) // pieces, grain)
    if job.chunk > 4 * ALIGNED_POINTS:
        job.chunk = (job.chunk + ALIGNED_POINTS - 1) // ALIGNED_POINTS * ALIGNED_POINTS
    pieces = (total + job.chunk - 1) // job.chunk
    region = (pieces + job.threads - 1) // job.threads * job.chunk
    for place in range(job.threads):
        job.regions[place].next_begin = min(place * region, total)
        job.regions[place].end = min((place + 1) * region, total)


cdef void parallel_for(int64_t total, int64_t grain, Task task, void* context) noexcept nogil:
    """Run `task` over [0, total) in chunks of at least `grain`."""
    global aten_inside_task
    cdef Job job
    cdef Region regions[MOST_THREADS]
    if total <= grain or aten_inside_task:
        task(context, 0, total)
        return
    job.threads = min(thread_count(), MOST_THREADS)
    if job.threads <= 1 or pthread_mutex_trylock(&_pool.submit) != 0:
        task(context, 0, total)
        return
    job.task = task
    job.context = context
    job.regions = regions
    job.active = 0
    job.processor = sched_getcpu()
    _part(&job, total, grain)
    _start_workers(job.threads - 1)
    pthread_mutex_lock(&_pool.lock)
    _pool.job = &job
    _pool.generation += 1
    pthread_cond_broadcast(&_pool.wake)
    pthread_mutex_unlock(&_pool.lock)
    aten_inside_task = 1
    _run_chunks(&job, 0)
    aten_inside_task = 0
    pthread_mutex_lock(&_pool.lock)
    _pool.job = NULL        # whoever has not begun by now will not
    pthread_mutex_unlock(&_pool.lock)
    # Polling first: a caller that sleeps is woken on the processor of the worker it waited for.
    _await(&job.active, 0, True)
    pthread_mutex_lock(&_pool.lock)
    while job.active > 0:
        pthread_cond_wait(&_pool.done, &_pool.lock)
    pthread_mutex_unlock(&_pool.lock)
    pthread_mutex_unlock(&_pool.submit)


cdef int thread_count() noexcept nogil:
    if _threads == 0:
        with gil:
            _determine_threads()
    return _threads


cdef _determine_threads():
    global _threads
    try:
        from aten._core.processors import available_processors

        _threads = available_processors()
    except Exception:
        _threads = 1


def get_num_threads():
    """How many threads one operator may use."""
    return thread_count()


def set_num_threads(int count):
    """Use at most `count` threads. Raises RuntimeError unless it is positive."""
    global _threads
    if count < 1:
        raise RuntimeError(f"Expected positive number of threads, got {count}")
    _threads = count


_start_afresh()
pthread_atfork(NULL, NULL, _start_afresh)
