# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Memory that is run: written first, and then neither written to nor moved."""

from libc.errno cimport errno
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

import os

cdef extern from *:
    """
    #include <Python.h>
    #include <dlfcn.h>
    #include <sys/mman.h>
    static void *aten_memory(size_t bytes) {
        void *made = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return made == MAP_FAILED ? 0 : made;
    }
    static int aten_run(void *begin, size_t bytes) {
        return mprotect(begin, bytes, PROT_READ | PROT_EXEC);
    }
    /* By the version that all systems have: newer C libraries have another one besides. */
    #if defined(__GLIBC__) && defined(__x86_64__)
    __asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
    #elif defined(__GLIBC__) && defined(__aarch64__)
    __asm__(".symver dlsym, dlsym@GLIBC_2.17");
    #endif
    static void *aten_function(const char *name) { return dlsym(RTLD_DEFAULT, name); }
    """
    void* aten_memory(size_t) noexcept
    int aten_run(void*, size_t) noexcept
    void* aten_function(const char*) noexcept
    int munmap(void*, size_t) noexcept


cdef class Code:
    """Machine code and its constants, in memory for as long as this object is there.

    The first `code` bytes of `content`, whole pages, are run. Behind them is a word for each of
    `functions`, names of functions of the C library, which gets its address.

    Raises ValueError where the parts are not so long, LookupError where a function is not in the
    process, MemoryError, and OSError where the system lets no code be run.
    """

    cdef char* memory
    cdef size_t bytes

    def __cinit__(self, const unsigned char[::1] content not None, size_t code, functions):
        cdef Py_ssize_t place
        cdef uint64_t address
        cdef size_t length = content.shape[0]
        if code > length or length - code < 8 * <size_t> len(functions):
            raise ValueError("the image is shorter than its code and functions")
        self.bytes = max(length, 1)
        self.memory = <char*> aten_memory(self.bytes)
        if self.memory == NULL:
            raise MemoryError("no memory for machine code")
        if length:
            memcpy(self.memory, &content[0], length)
        for place in range(len(functions)):
            name = functions[place].encode()
            address = <uint64_t> aten_function(name)
            if address == 0:
                raise LookupError(f"the machine code calls {functions[place]}, which is not there")
            memcpy(self.memory + code + 8 * place, &address, 8)
        if code and aten_run(self.memory, code) != 0:
            raise OSError(errno, f"the system lets no machine code be loaded: {os.strerror(errno)}")

    def __dealloc__(self):
        if self.memory != NULL:
            munmap(self.memory, self.bytes)

    @property
    def address(self):
        """Where it begins."""
        return <size_t> self.memory
