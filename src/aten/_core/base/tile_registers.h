/* The tile registers of Intel's AMX: their shapes, for all kernels that use them. */

#ifndef ATEN_TILE_REGISTERS
#define ATEN_TILE_REGISTERS

#include <stdint.h>

#include "_core/base/vector_widths.h"

#ifdef ATEN_KNOWS_TILE_REGISTERS
#include <immintrin.h>

typedef struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} __attribute__((aligned(64))) aten_tile_shapes;

/* Compilers do not know that the registers' loads read memory: what a function writes is there when they
   come, its own array or all. */
#define ATEN_IS_READ(array) __asm__ volatile("" : : "m"(array))
#define ATEN_ARE_WRITTEN() __asm__ volatile("" : : : "memory")

/* Registers get these shapes, and lose what they held. */
static inline __attribute__((always_inline)) __attribute__((target("amx-tile"))) void
aten_shape_tiles(const aten_tile_shapes *shapes)
{
    /* Compilers take only the first bytes of it for what is read. */
    __asm__ volatile("" : : "r"(shapes) : "memory");
    _tile_loadconfig(shapes);
}

/* All of sixteen rows of 64 bytes. */
static inline __attribute__((always_inline)) __attribute__((target("amx-tile"))) void
aten_shape_whole_tiles(void)
{
    aten_tile_shapes shapes = {1, 0, {0}, {0}, {0}};
    int i;
    for (i = 0; i < 8; i++) {
        shapes.row_bytes[i] = 64;
        shapes.rows[i] = 16;
    }
    aten_shape_tiles(&shapes);
}
#endif

#endif
