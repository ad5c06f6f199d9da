// ldmatrix, stmatrix, movmatrix and mma on the CPU, by what PTX says of them: of lane l, g = l / 4 is its group and
// t = l % 4 its place in it. The bodies of printed device functions are replaced by calls of these (emulate.py).
#pragma once
#include "emulate.h"

namespace swizzle_emulation {

constexpr unsigned ALL_LANES = 0xffffffffu;

template <class T> T from_lane(T value, int lane) {
    if constexpr (sizeof(T) == 1) return T(SWIZZLE_AT(mma).take(ALL_LANES, int(value), unsigned(lane)));
    else return SWIZZLE_AT(mma).take(ALL_LANES, value, unsigned(lane));
}

// Where the row begins that another lane names; its 16 bytes are aligned.
template <class T> T* named_row(const void* row, int lane) {
    const uint64_t address = SWIZZLE_AT(ldmatrix).take(ALL_LANES, uint64_t(row), unsigned(lane));
    if (address % 16) refuse(Site{"ldmatrix or stmatrix", __LINE__, 0}, "a row begins %d bytes behind a multiple of 16", int(address % 16));
    return reinterpret_cast<T*>(address);
}

template <class T, int N> struct Matrices {
    static constexpr int per = 4 / int(sizeof(T)), count = N / per;  // a lane's elements of a matrix; matrices

    // Of matrix j, a lane has the t-th 4 bytes of row g; transposed, the elements of column g in rows 2t and 2t + 1.
    template <bool TRANSPOSED> static T* element(const void* row, int matrix, int e) {
        const int g = int(lane_id()) / 4, t = int(lane_id()) % 4;
        if (TRANSPOSED) return named_row<T>(row, 8 * matrix + per * t + e) + g;
        return named_row<T>(row, 8 * matrix + g) + per * t + e;
    }
};

template <bool TRANSPOSED, int FIRST = 0, class T, int N> void load_matrices(const void* row, T (&f)[N]) {
    using All = Matrices<T, N>;
    for (int i = 0; i < N; ++i) f[i] = *All::template element<TRANSPOSED>(row, FIRST + i / All::per, i % All::per);
}
template <bool TRANSPOSED, int FIRST = 0, class T, int N, class... More>
void load_matrices(const void* row, T (&f)[N], More&... more) {
    load_matrices<TRANSPOSED, FIRST>(row, f);
    load_matrices<TRANSPOSED, FIRST + Matrices<T, N>::count>(row, more...);
}
template <bool TRANSPOSED, int FIRST = 0, class T, int N> void store_matrices(const void* row, const T (&f)[N]) {
    using All = Matrices<T, N>;
    for (int i = 0; i < N; ++i) *All::template element<TRANSPOSED>(row, FIRST + i / All::per, i % All::per) = f[i];
}
template <bool TRANSPOSED, int FIRST = 0, class T, int N, class... More>
void store_matrices(const void* row, const T (&f)[N], const More&... more) {
    store_matrices<TRANSPOSED, FIRST>(row, f);
    store_matrices<TRANSPOSED, FIRST + Matrices<T, N>::count>(row, more...);
}

template <class T> void move_matrix(T (&target)[2], const T (&source)[2]) {
    const int g = int(lane_id()) / 4, t = int(lane_id()) % 4;
    T found[2];
    for (int e = 0; e < 2; ++e) {
        const int lane = 4 * (2 * t + e) + g / 2;
        const T even = from_lane(source[0], lane), odd = from_lane(source[1], lane);
        found[e] = g % 2 ? odd : even;
    }
    target[0] = found[0], target[1] = found[1];
}

// A factor as the hardware takes it: a float without its lower 13 bits, four bits of a word of eight numbers.
template <int PACKED, class T> auto factor(T value, int part) {
    if constexpr (PACKED > 1 && std::is_signed_v<T>) return int(unsigned(value) << (32 - 4 * (part + 1))) >> 28;
    else if constexpr (PACKED > 1) return int(value >> 4 * part & 15);
    else if constexpr (std::is_same_v<T, float>) {
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        bits &= 0xffffe000u;
        std::memcpy(&value, &bits, 4);
        return value;
    } else if constexpr (std::is_integral_v<T>) return int(value);
    else if constexpr (std::is_same_v<T, double>) return value;
    else if constexpr (std::is_convertible_v<T, float>) return float(value);
    else {  // bfloat16, which is the upper half of a float
        uint16_t bits;
        std::memcpy(&bits, &value, 2);
        const uint32_t whole = uint32_t(bits) << 16;
        float number;
        std::memcpy(&number, &whole, 4);
        return number;
    }
}

template <int M, int K, class C, class T, int NC, int NA, int NB>
void multiply(C (&c)[NC], const T (&a)[NA], const T (&b)[NB]) {
    constexpr int packed = M * K / (32 * NA), bits = 8 * int(sizeof(T)) / packed, per = bits < 32 ? 32 / bits : 1;
    const int g = int(lane_id()) / 4, t = int(lane_id()) % 4;
    for (int k = 0; k < K; ++k) {
        const int chunk = k / (4 * per), place = k % (4 * per) / per;  // of 4 registers side by side, one of each lane
        for (int n = 0; n < 2; ++n) {
            const int at = chunk * per + k % per;
            const auto y = factor<packed>(from_lane(b[at / packed], 4 * (2 * t + n) + place), at % packed);
            for (int m = 0; m < M / 8; ++m) {
                const int from = (chunk * (M / 8) + m) * per + k % per;
                const auto x = factor<packed>(from_lane(a[from / packed], 4 * g + place), from % packed);
                c[2 * m + n] = C(c[2 * m + n] + C(x * y));
            }
        }
    }
}

}  // namespace swizzle_emulation
