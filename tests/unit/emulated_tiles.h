/* The tile registers of Intel's AMX in plain C: what kernels of ours do with them, without them.

   Source of what an instruction does: Intel's Architecture Instruction Set Extensions Programming
   Reference, chapter 3. A wrong shape ends the process, as it would raise #UD or #GP. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, SIDE = 16, ROW_BYTES = 64 };

static uint8_t tiles[TILES][SIDE][ROW_BYTES];
static struct { int rows, bytes; } shapes[TILES];
static int configured = 0;

static void require(int holds)
{
    if (!holds)
        abort();
}

static void _tile_loadconfig(const void *config)
{
    const uint8_t *bytes = config;
    require(bytes[0] == 1 && bytes[1] == 0);
    for (int i = 2; i < 16; i++)
        require(bytes[i] == 0);
    for (int i = 0; i < 16; i++) {
        uint16_t row_bytes;
        memcpy(&row_bytes, bytes + 16 + 2 * i, 2);
        require(row_bytes <= ROW_BYTES && bytes[48 + i] <= SIDE);
        require((row_bytes == 0) == (bytes[48 + i] == 0));
        if (i >= TILES)
            require(row_bytes == 0);
        else {
            shapes[i].rows = bytes[48 + i];
            shapes[i].bytes = row_bytes;
        }
    }
    memset(tiles, 0, sizeof tiles);
    configured = 1;
}

static void _tile_release(void)
{
    configured = 0;
    memset(tiles, 0xff, sizeof tiles);
}

static void _tile_zero(int tile)
{
    require(configured && shapes[tile].rows);
    memset(tiles[tile], 0, sizeof tiles[tile]);
}

static void _tile_loadd(int tile, const void *from, int64_t step)
{
    require(configured && shapes[tile].rows);
    memset(tiles[tile], 0, sizeof tiles[tile]);
    for (int row = 0; row < shapes[tile].rows; row++)
        memcpy(tiles[tile][row], (const char *)from + row * step, shapes[tile].bytes);
}

static void _tile_stored(int tile, void *to, int64_t step)
{
    require(configured && shapes[tile].rows);
    for (int row = 0; row < shapes[tile].rows; row++)
        memcpy((char *)to + row * step, tiles[tile][row], shapes[tile].bytes);
}

static void check_shapes(int sums, int left, int right)
{
    require(configured && sums != left && sums != right && left != right);
    require(shapes[sums].rows == shapes[left].rows && shapes[sums].bytes == shapes[right].bytes);
    require(shapes[left].bytes == shapes[right].rows * 4);
}

static float number_at(const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static void _tile_dpbf16ps(int sums, int left, int right)
{
    check_shapes(sums, left, right);
    for (int row = 0; row < shapes[sums].rows; row++)
        for (int column = 0; column < shapes[sums].bytes / 4; column++) {
            float first = 0, second = 0, total;
            for (int k = 0; k < shapes[right].rows; k++) {
                const uint8_t *a = tiles[left][row] + 4 * k, *b = tiles[right][k] + 4 * column;
                first += number_at(a) * number_at(b);
                second += number_at(a + 2) * number_at(b + 2);
            }
            memcpy(&total, tiles[sums][row] + 4 * column, 4);
            total += first + second;
            memcpy(tiles[sums][row] + 4 * column, &total, 4);
        }
}

/* Signed bytes times unsigned ones. */
static void _tile_dpbsud(int sums, int left, int right)
{
    check_shapes(sums, left, right);
    for (int row = 0; row < shapes[sums].rows; row++)
        for (int column = 0; column < shapes[sums].bytes / 4; column++) {
            uint32_t total;
            memcpy(&total, tiles[sums][row] + 4 * column, 4);
            for (int k = 0; k < 4 * shapes[right].rows; k++)
                total += (uint32_t)((int8_t)tiles[left][row][k]
                                    * (int)tiles[right][k / 4][4 * column + k % 4]);
            memcpy(tiles[sums][row] + 4 * column, &total, 4);
        }
}
