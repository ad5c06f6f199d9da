// bf16 on the CPU: the upper half of a float. What printed texts compute with it, they compute in float and round once,
// to nearest even.
#pragma once

struct __nv_bfloat16 {
    uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 a) {
    const uint32_t pattern = uint32_t(a.bits) << 16;
    float value;
    std::memcpy(&value, &pattern, 4);
    return value;
}
inline __nv_bfloat16 __float2bfloat16(float value) {
    uint32_t pattern;
    std::memcpy(&pattern, &value, 4);
    if (isnan(value)) return {0x7fff};
    return {uint16_t((pattern + 0x7fff + (pattern >> 16 & 1)) >> 16)};
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {bits}; }

namespace swizzle_emulation {
template <> constexpr char kind_of<__nv_bfloat16>() { return 'u'; }  // NumPy has its bits
}  // namespace swizzle_emulation

struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
template <> struct swizzle_emulation::Element<__nv_bfloat162> { using type = __nv_bfloat16; };
