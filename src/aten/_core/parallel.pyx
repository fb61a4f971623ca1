# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""The thread pool.

Work is cut into chunks that threads claim one by one. The caller claims too, and never waits for
a worker that has not begun: when workers are slow to wake, or the machine is busy, it simply does
more of the chunks itself. One job runs at a time; a call from inside a task, or from a second
Python thread meanwhile, runs on its own thread alone. After a fork the child starts afresh.

What a chunk computes must not depend on how the range was cut, so results do not either.
"""

from libc.stdint cimport int64_t

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
    # A worker polls this often for the next job, for about a millisecond, before it sleeps: waking
    # up can take that long, and one that woke too late for a job is then there for the next.
    POLLS = 60000
    # Chunks per thread: enough to even out a slow one, few enough to claim cheaply.
    CHUNKS_PER_THREAD = 4

cdef struct Job:
    Task task
    void* context
    int64_t total
    int64_t chunk
    int64_t next_begin      # claimed by atomic addition
    int64_t active          # workers inside the job; changed under the pool's lock
    int64_t limit           # workers that may be inside at once
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


cdef void _run_chunks(Job* job) noexcept nogil:
    cdef int64_t begin, end
    while True:
        begin = __atomic_fetch_add(&job.next_begin, job.chunk, __ATOMIC_ACQ_REL)
        if begin >= job.total:
            return
        end = begin + job.chunk
        job.task(job.context, begin, end if end < job.total else job.total)


cdef void _step_aside(int processor) noexcept nogil:
    """Move to another processor than the caller's, where a worker would only be in its way.

    The kernel may take its time to part two threads of one process, and until then each waits for
    the other's time slices. Called, and left, with the pool locked.
    """
    pthread_mutex_unlock(&_pool.lock)
    aten_leave_processor(processor)
    pthread_mutex_lock(&_pool.lock)


cdef void* _work(void* unused) noexcept nogil:
    global aten_inside_task
    cdef int64_t seen = 0
    cdef int polls
    cdef Job* job
    aten_inside_task = 1
    while True:
        for polls in range(POLLS):
            if __atomic_load_n(&_pool.generation, __ATOMIC_ACQUIRE) != seen:
                break
            aten_pause()
        pthread_mutex_lock(&_pool.lock)
        while _pool.generation == seen:
            pthread_cond_wait(&_pool.wake, &_pool.lock)
        if _pool.job != NULL and sched_getcpu() == _pool.job.processor:
            _step_aside(_pool.job.processor)
        seen = _pool.generation
        job = _pool.job
        if job == NULL or job.active >= job.limit:
            pthread_mutex_unlock(&_pool.lock)
            continue
        job.active += 1
        pthread_mutex_unlock(&_pool.lock)
        _run_chunks(job)
        pthread_mutex_lock(&_pool.lock)
        job.active -= 1
        if job.active == 0:
            pthread_cond_signal(&_pool.done)
        pthread_mutex_unlock(&_pool.lock)
    return NULL


cdef void _start_workers(int count) noexcept nogil:
    cdef pthread_t thread
    while _pool.workers < count:
        if pthread_create(&thread, NULL, _work, NULL) != 0:
            return
        pthread_detach(thread)
        _pool.workers += 1


cdef void parallel_for(int64_t total, int64_t grain, Task task, void* context) noexcept nogil:
    """Run `task` over [0, total) in chunks of at least `grain`."""
    global aten_inside_task
    cdef Job job
    cdef int threads, polls
    cdef int64_t chunk
    if total <= grain or aten_inside_task:
        task(context, 0, total)
        return
    threads = thread_count()
    if threads <= 1:
        task(context, 0, total)
        return
    if pthread_mutex_trylock(&_pool.submit) != 0:
        task(context, 0, total)
        return
    chunk = (total + threads * CHUNKS_PER_THREAD - 1) // (threads * CHUNKS_PER_THREAD)
    job.task = task
    job.context = context
    job.total = total
    job.chunk = chunk if chunk > grain else grain
    job.next_begin = 0
    job.active = 0
    job.limit = threads - 1
    job.processor = sched_getcpu()
    _start_workers(threads - 1)
    pthread_mutex_lock(&_pool.lock)
    _pool.job = &job
    _pool.generation += 1
    pthread_cond_broadcast(&_pool.wake)
    pthread_mutex_unlock(&_pool.lock)
    aten_inside_task = 1
    _run_chunks(&job)
    aten_inside_task = 0
    pthread_mutex_lock(&_pool.lock)
    _pool.job = NULL        # whoever has not begun by now will not
    pthread_mutex_unlock(&_pool.lock)
    # Polling first: a caller that sleeps is woken on the processor of the worker it waited for.
    for polls in range(POLLS):
        if __atomic_load_n(&job.active, __ATOMIC_ACQUIRE) == 0:
            break
        aten_pause()
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
