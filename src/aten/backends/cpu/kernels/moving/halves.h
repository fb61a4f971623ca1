/* float16 and bfloat16 as bits: widened to float, and rounded to nearest, ties to even. */

#ifndef ATEN_HALVES
#define ATEN_HALVES

#include <stdint.h>
#include <string.h>
static inline float aten_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static inline uint32_t aten_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
static inline float aten_widen_brain(uint16_t half) {
    return aten_float_of_bits((uint32_t)half << 16);
}
static inline uint16_t aten_round_brain(float value) {
    uint32_t bits = aten_bits_of_float(value);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    return value != value ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)rounded;
}
/* Shifted into place, a half's exponent is 112 too small: a product with 2^112 repairs that,
   for subnormals too. */
static inline float aten_widen_half(uint16_t half) {
    uint32_t magnitude = (uint32_t)(half & 0x7FFF) << 13;
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    float scaled = aten_float_of_bits(magnitude) * 0x1p112f;
    uint32_t bits = (half & 0x7C00) == 0x7C00 ? magnitude | 0x7F800000
                                              : aten_bits_of_float(scaled);
    return aten_float_of_bits(bits | sign);
}
/* Below 2^-14, adding 0.5 lets float addition round to the spacing of half's subnormals. */
static inline uint16_t aten_round_half(float value) {
    uint32_t bits = aten_bits_of_float(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7FFFFFFF;
    uint32_t normal = (magnitude + 0xC8000FFF + (magnitude >> 13 & 1)) >> 13;
    uint32_t small = aten_bits_of_float(aten_float_of_bits(magnitude) + 0.5f) - 0x3F000000;
    uint32_t result = magnitude < 0x38800000 ? small : normal;
    result = magnitude >= 0x477FF000 ? 0x7C00 : result;
    result = magnitude > 0x7F800000 ? 0x7E00 : result;
    return (uint16_t)(result | sign);
}

#endif
