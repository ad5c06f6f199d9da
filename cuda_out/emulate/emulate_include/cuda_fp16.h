// Half precision on the CPU. Every operation computes in float and rounds once to half, to nearest even: for
// + - * / that is the correctly rounded half result, because a float has more than twice a half's digits.
#pragma once

struct __half {
    uint16_t bits;

    __half() = default;
    __half(float value) : bits(rounded(value)) {}
    __half(double value) : bits(rounded(to_odd(value))) {}
    __half(int value) : __half(double(value)) {}
    __half(unsigned value) : __half(double(value)) {}
    __half(long long value) : __half(double(value)) {}
    __half(unsigned long long value) : __half(double(value)) {}
    operator float() const;

  private:
    static float to_odd(double value) {  // keeps the second rounding, float to half, from going wrong
        float nearest = float(value);
        if (double(nearest) == value || isnan(value) || isinf(nearest)) return nearest;
        uint32_t pattern;
        std::memcpy(&pattern, &nearest, 4);
        if (fabs(double(nearest)) > fabs(value)) --pattern;  // towards zero, then set the last bit
        pattern |= 1;
        std::memcpy(&nearest, &pattern, 4);
        return nearest;
    }
    static uint16_t rounded(float value) {
        uint32_t pattern;
        std::memcpy(&pattern, &value, 4);
        const uint16_t sign = uint16_t(pattern >> 16 & 0x8000);
        const float magnitude = fabs(value);
        if (isnan(value)) return uint16_t(sign | 0x7e00);
        if (magnitude >= 65520.0f) return uint16_t(sign | 0x7c00);
        if (magnitude < 6.103515625e-05f)  // subnormal: a multiple of 2^-24
            return uint16_t(sign | unsigned(nearbyint(magnitude * 16777216.0f)));
        pattern &= 0x7fffffff;
        pattern += 0xfff + (pattern >> 13 & 1);  // nearest even at bit 13; a carry goes into the exponent, as it should
        return uint16_t(sign | ((pattern - (112u << 23)) >> 13));
    }
};
using half = __half;

inline __half::operator float() const {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value;
    if (exponent == 0) {
        value = float(fraction) / 16777216.0f;
        return sign ? -value : value;
    }
    const uint32_t pattern = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    std::memcpy(&value, &pattern, 4);
    return value;
}

#define SWIZZLE_HALF_OPERATOR(OP)                                                                  \
    inline __half operator OP(const __half& a, const __half& b) { return __half(float(a) OP float(b)); } \
    inline __half& operator OP##=(__half& a, const __half& b) { return a = a OP b; }
SWIZZLE_HALF_OPERATOR(+)
SWIZZLE_HALF_OPERATOR(-)
SWIZZLE_HALF_OPERATOR(*)
SWIZZLE_HALF_OPERATOR(/)
#undef SWIZZLE_HALF_OPERATOR
#define SWIZZLE_HALF_COMPARISON(OP) \
    inline bool operator OP(const __half& a, const __half& b) { return float(a) OP float(b); }
SWIZZLE_HALF_COMPARISON(==)
SWIZZLE_HALF_COMPARISON(!=)
SWIZZLE_HALF_COMPARISON(<)
SWIZZLE_HALF_COMPARISON(<=)
SWIZZLE_HALF_COMPARISON(>)
SWIZZLE_HALF_COMPARISON(>=)
#undef SWIZZLE_HALF_COMPARISON
inline __half operator-(const __half& a) { return __half(-float(a)); }
inline __half operator+(const __half& a) { return a; }

inline float __half2float(__half a) { return float(a); }
inline __half __float2half(float a) { return __half(a); }
inline __half __float2half_rn(float a) { return __half(a); }
inline __half __double2half(double a) { return __half(a); }
inline __half __int2half_rn(int a) { return __half(a); }
inline __half __uint2half_rn(unsigned a) { return __half(a); }
inline int __half2int_rz(__half a) { return int(float(a)); }
inline unsigned __half2uint_rz(__half a) { return unsigned(float(a)); }
inline unsigned short __half_as_ushort(__half a) { return a.bits; }
inline __half __ushort_as_half(unsigned short bits) {
    __half value;
    value.bits = bits;
    return value;
}
inline __half __hadd(__half a, __half b) { return a + b; }
inline __half __hsub(__half a, __half b) { return a - b; }
inline __half __hmul(__half a, __half b) { return a * b; }
inline __half __hdiv(__half a, __half b) { return a / b; }
inline __half __hneg(__half a) { return -a; }
inline __half __habs(__half a) { return __half(fabs(float(a))); }
inline __half __hmin(__half a, __half b) { return __half(fmin(float(a), float(b))); }
inline __half __hmax(__half a, __half b) { return __half(fmax(float(a), float(b))); }
// The product of two halves is exact in double; rounding the double sum to odd first makes the result exact to half.
inline __half __hfma(__half a, __half b, __half c) { return __half(double(float(a)) * float(b) + double(float(c))); }

namespace swizzle_emulation {
template <> constexpr char kind_of<__half>() { return 'f'; }
}  // namespace swizzle_emulation

struct __align__(4) __half2 {
    __half x, y;
};
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
template <> struct swizzle_emulation::Element<__half2> { using type = __half; };
