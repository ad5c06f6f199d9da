// CUDA C++ as a host compiler reads it: the very text of a printed kernel compiles after this header.
//
// One fiber stands for one CUDA thread; the scheduler (emulate_scheduler.cpp) lets a fiber run up to its next
// shuffle, vote or barrier and completes these only when every lane in the mask has arrived. Loads and stores are
// compiled to calls (-fsanitize=thread), which emulate_memory.cpp answers: exact bounds of every array, and races.
// Shared memory is thread_local: there is one operating-system thread, so its TLS block is the block's shared memory.
#pragma once
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// libstdc++'s <math.h> takes longer to read than all else here: C's is read, and the overloads for float and integers stand below.
#ifdef __GLIBCXX__
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#endif
#include <math.h>

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1  // host wrappers are guarded by its absence
#define __CUDA_ARCH__ 800
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ __attribute__((used)) thread_local  // used: others than this text write it
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

#ifdef __GLIBCXX__
template <class... T> using SwizzleDouble = std::enable_if_t<(std::is_arithmetic_v<T> && ...), double>;
#define SWIZZLE_FLOAT1(NAME)                                           \
    inline float NAME(float x) { return __builtin_##NAME##f(x); } \
    template <class X> SwizzleDouble<X> NAME(X x) { return __builtin_##NAME(x); }
#define SWIZZLE_FLOAT2(NAME)                                                       \
    inline float NAME(float x, float y) { return __builtin_##NAME##f(x, y); } \
    template <class X, class Y> SwizzleDouble<X, Y> NAME(X x, Y y) { return __builtin_##NAME(x, y); }
// clang-format off
SWIZZLE_FLOAT1(acos) SWIZZLE_FLOAT1(acosh) SWIZZLE_FLOAT1(asin) SWIZZLE_FLOAT1(asinh) SWIZZLE_FLOAT1(atan)
SWIZZLE_FLOAT1(atanh) SWIZZLE_FLOAT1(cbrt) SWIZZLE_FLOAT1(ceil) SWIZZLE_FLOAT1(cos) SWIZZLE_FLOAT1(cosh)
SWIZZLE_FLOAT1(erf) SWIZZLE_FLOAT1(erfc) SWIZZLE_FLOAT1(exp) SWIZZLE_FLOAT1(exp2) SWIZZLE_FLOAT1(expm1)
SWIZZLE_FLOAT1(fabs) SWIZZLE_FLOAT1(floor) SWIZZLE_FLOAT1(lgamma) SWIZZLE_FLOAT1(log) SWIZZLE_FLOAT1(log10)
SWIZZLE_FLOAT1(log1p) SWIZZLE_FLOAT1(log2) SWIZZLE_FLOAT1(logb) SWIZZLE_FLOAT1(nearbyint) SWIZZLE_FLOAT1(rint)
SWIZZLE_FLOAT1(round) SWIZZLE_FLOAT1(sin) SWIZZLE_FLOAT1(sinh) SWIZZLE_FLOAT1(sqrt) SWIZZLE_FLOAT1(tan)
SWIZZLE_FLOAT1(tanh) SWIZZLE_FLOAT1(tgamma) SWIZZLE_FLOAT1(trunc)
SWIZZLE_FLOAT2(atan2) SWIZZLE_FLOAT2(copysign) SWIZZLE_FLOAT2(fdim) SWIZZLE_FLOAT2(fmax) SWIZZLE_FLOAT2(fmin)
SWIZZLE_FLOAT2(fmod) SWIZZLE_FLOAT2(hypot) SWIZZLE_FLOAT2(nextafter) SWIZZLE_FLOAT2(pow) SWIZZLE_FLOAT2(remainder)
// clang-format on
#undef SWIZZLE_FLOAT1
#undef SWIZZLE_FLOAT2
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
template <class X, class Y, class Z> SwizzleDouble<X, Y, Z> fma(X x, Y y, Z z) { return __builtin_fma(x, y, z); }
#endif
inline float rsqrtf(float x) { return float(1 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1 / sqrt(x); }

// ---- vector types ----------------------------------------------------------------------------------------------

namespace swizzle_emulation {
template <class T> struct Element { using type = T; };  // float4 -> float; what a pointer to it points into
}  // namespace swizzle_emulation

#define SWIZZLE_VECTOR(T, NAME, N, FIELDS, PARAMETERS, VALUES)                                     \
    struct alignas(sizeof(T) * N > 16 ? 16 : N == 3 ? sizeof(T) : sizeof(T) * N) NAME##N { T FIELDS; }; \
    inline NAME##N make_##NAME##N PARAMETERS { return NAME##N VALUES; }                             \
    template <> struct swizzle_emulation::Element<NAME##N> { using type = T; };
#define SWIZZLE_PACK(...) __VA_ARGS__
#define SWIZZLE_VECTORS(T, NAME)                                                                      \
    SWIZZLE_VECTOR(T, NAME, 2, SWIZZLE_PACK(x, y), (T x, T y), SWIZZLE_PACK({x, y}))                  \
    SWIZZLE_VECTOR(T, NAME, 3, SWIZZLE_PACK(x, y, z), (T x, T y, T z), SWIZZLE_PACK({x, y, z}))       \
    SWIZZLE_VECTOR(T, NAME, 4, SWIZZLE_PACK(x, y, z, w), (T x, T y, T z, T w), SWIZZLE_PACK({x, y, z, w}))
SWIZZLE_VECTORS(float, float)
SWIZZLE_VECTORS(double, double)
SWIZZLE_VECTORS(signed char, char)
SWIZZLE_VECTORS(unsigned char, uchar)
SWIZZLE_VECTORS(short, short)
SWIZZLE_VECTORS(unsigned short, ushort)
SWIZZLE_VECTORS(int, int)
SWIZZLE_VECTORS(unsigned, uint)
SWIZZLE_VECTORS(long long, longlong)
SWIZZLE_VECTORS(unsigned long long, ulonglong)
#undef SWIZZLE_VECTORS
#undef SWIZZLE_PACK
#undef SWIZZLE_VECTOR

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

// Constant while a thread runs its kernel; the scheduler sets them before it lets a fiber go on.
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
extern const int warpSize;

// ---- warp operations and barriers ------------------------------------------------------------------------------

namespace swizzle_emulation {

struct Site {  // one warp operation or barrier in the text; `id` tells two on one line apart
    const char* name;
    int line, id;
};

// The runtime's side (emulate_scheduler.cpp). `bits` is what this lane offers; the result is what it receives.
uint64_t shuffle(Site site, uint32_t mask, unsigned source, uint64_t bits);
uint64_t vote(Site site, uint32_t mask, bool predicate);  // the lanes of the warp that said yes
void warp_barrier(Site site, uint32_t mask);
void block_barrier(Site site);
unsigned lane_id();
int atomic_add(int* address, int value);
unsigned atomic_add(unsigned* address, unsigned value);
unsigned long long atomic_add(unsigned long long* address, unsigned long long value);
float atomic_add(float* address, float value);
double atomic_add(double* address, double value);
#define SWIZZLE_ATOMIC(NAME, T) T NAME(T* address, T value);
#define SWIZZLE_ATOMICS(T) SWIZZLE_ATOMIC(atomic_and, T) SWIZZLE_ATOMIC(atomic_or, T) SWIZZLE_ATOMIC(atomic_xor, T) \
    SWIZZLE_ATOMIC(atomic_min, T) SWIZZLE_ATOMIC(atomic_max, T)
SWIZZLE_ATOMICS(int) SWIZZLE_ATOMICS(unsigned) SWIZZLE_ATOMICS(unsigned long long)
SWIZZLE_ATOMIC(atomic_min, long long) SWIZZLE_ATOMIC(atomic_max, long long)
#undef SWIZZLE_ATOMICS
#undef SWIZZLE_ATOMIC
void copy_async(void* to, const void* from, unsigned bytes, unsigned copied);  // the rest is filled with zeros
void commit_copies();
void wait_copies(unsigned left);
void fence();                   // of what this thread stores and loads, for the threads of other blocks
void* dynamic_shared_memory();  // what emulate.py lets an `extern __shared__ T name[]` point to
[[noreturn]] void refuse(Site site, const char* format, int value);

struct At {
    Site site;

    template <class T> T take(unsigned mask, T value, unsigned source) const {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) >= 2 && sizeof(T) <= 8, "a shuffle moves a scalar");
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        bits = shuffle(site, mask, source, bits);
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    int first_lane(int width) const {  // of the segment of `width` lanes that this lane belongs to
        if (width < 1 || width > warpSize || (width & (width - 1))) refuse(site, "width %d is no power of two", width);
        return int(lane_id()) & ~(width - 1);
    }
    template <class T> T index(unsigned mask, T value, int source, int width = warpSize) const {
        return take(mask, value, unsigned(first_lane(width) | (source & (width - 1))));
    }
    template <class T> T up(unsigned mask, T value, unsigned delta, int width = warpSize) const {
        const int lane = int(lane_id()), source = lane - int(delta);
        return take(mask, value, unsigned(source < first_lane(width) ? lane : source));
    }
    template <class T> T down(unsigned mask, T value, unsigned delta, int width = warpSize) const {
        const int lane = int(lane_id()), source = lane + int(delta);
        return take(mask, value, unsigned(source >= first_lane(width) + width ? lane : source));
    }
    template <class T> T exclusive_or(unsigned mask, T value, int lanes, int width = warpSize) const {
        const int lane = int(lane_id()), source = lane ^ lanes;
        return take(mask, value, unsigned(source >= first_lane(width) + width ? lane : source));
    }
    unsigned ballot(unsigned mask, int predicate) const { return unsigned(vote(site, mask, predicate != 0)); }
    int any(unsigned mask, int predicate) const { return vote(site, mask, predicate != 0) != 0; }
    int all(unsigned mask, int predicate) const { return vote(site, mask, predicate == 0) == 0; }
    void sync_warp(unsigned mask = 0xffffffffu) const { warp_barrier(site, mask); }
    void sync_block() const { block_barrier(site); }
};

inline At at(const char* name, int line, int id) { return At{{name, line, id}}; }

}  // namespace swizzle_emulation

#define SWIZZLE_AT(name) swizzle_emulation::at(#name, __LINE__, __COUNTER__)
#define atomicAdd swizzle_emulation::atomic_add
#define atomicAnd swizzle_emulation::atomic_and
#define atomicOr swizzle_emulation::atomic_or
#define atomicXor swizzle_emulation::atomic_xor
#define atomicMin swizzle_emulation::atomic_min
#define atomicMax swizzle_emulation::atomic_max
#define __shfl_sync SWIZZLE_AT(__shfl_sync).index
#define __shfl_up_sync SWIZZLE_AT(__shfl_up_sync).up
#define __shfl_down_sync SWIZZLE_AT(__shfl_down_sync).down
#define __shfl_xor_sync SWIZZLE_AT(__shfl_xor_sync).exclusive_or
#define __ballot_sync SWIZZLE_AT(__ballot_sync).ballot
#define __any_sync SWIZZLE_AT(__any_sync).any
#define __all_sync SWIZZLE_AT(__all_sync).all
#define __syncwarp SWIZZLE_AT(__syncwarp).sync_warp
#define __syncthreads SWIZZLE_AT(__syncthreads).sync_block
#define __threadfence swizzle_emulation::fence

// ---- arithmetic ------------------------------------------------------------------------------------------------

using std::abs;
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
template <class A, class B, class = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B, class = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return T(a) < T(b) ? T(b) : T(a);
}
template <class T> T __ldg(const T* address) { return *address; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frsqrt_rn(float a) { return rsqrtf(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float a) { return a > 0 ? a < 1 ? a : 1 : 0; }  // of NaN 0
inline double __drcp_rn(double a) { return 1 / a; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
// Macros, as C's <math.h> declares some of these names, which no library defines. CUDA's are less exact.
#define __expf(a) expf(a)
#define __exp10f(a) powf(10.0f, a)
#define __logf(a) logf(a)
#define __log2f(a) log2f(a)
#define __log10f(a) log10f(a)
#define __powf(a, b) powf(a, b)
#define __sinf(a) sinf(a)
#define __cosf(a) cosf(a)
#define __tanf(a) tanf(a)
#define __tanhf(a) tanhf(a)
inline float __int_as_float(int bits) { float number; std::memcpy(&number, &bits, 4); return number; }
inline double __longlong_as_double(long long bits) { double number; std::memcpy(&number, &bits, 8); return number; }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits ? __builtin_clz(unsigned(bits)) : 32; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const uint64_t both = uint64_t(b) << 32 | a;
    unsigned found = 0;
    for (int at = 0; at < 32; at += 8) {
        const unsigned byte = unsigned(both >> (selector >> at / 2 & 7) * 8) & 255;
        found |= (selector >> at / 2 & 8 ? (byte & 128 ? 255u : 0u) : byte) << at;
    }
    return found;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
inline int __mulhi(int a, int b) { return int((int64_t(a) * b) >> 32); }

// ---- the kernel to run -----------------------------------------------------------------------------------------

namespace swizzle_emulation {

struct Parameter {
    char kind;  // 'f', 'i', 'u', 'b' as in NumPy, or '?' for anything else; of the element where it is a pointer
    unsigned size;
    bool pointer, writable;
};
struct Kernel {
    const char* name;
    const Parameter* parameters;
    unsigned count;
    void (*call)(void** arguments);  // arguments[i] is where the value of argument i lies
};
extern const Kernel kernel;  // defined at the end of the kernel's translation unit, by SWIZZLE_KERNEL

template <class T> constexpr char kind_of() {
    if (std::is_same_v<T, bool>) return 'b';
    if (std::is_floating_point_v<T>) return 'f';
    if (std::is_integral_v<T>) return std::is_signed_v<T> ? 'i' : 'u';
    return '?';
}
template <class P> constexpr Parameter describe() {
    using Target = std::remove_pointer_t<P>;
    using T = typename Element<std::remove_cv_t<Target>>::type;
    constexpr bool pointer = std::is_pointer_v<P>;
    return {kind_of<T>(), unsigned(sizeof(T)), pointer, pointer && !std::is_const_v<Target>};
}
template <class... P> struct Signature {
    static constexpr unsigned count = sizeof...(P);
    static constexpr Parameter parameters[count + 1] = {describe<P>()..., {}};
    template <size_t... I> static void call(void (*function)(P...), void** arguments, std::index_sequence<I...>) {
        function(*static_cast<P*>(arguments[I])...);
    }
    static void call(void (*function)(P...), void** arguments) {
        call(function, arguments, std::index_sequence_for<P...>{});
    }
};
template <class... P> constexpr Signature<P...> signature(void (*)(P...)) { return {}; }

}  // namespace swizzle_emulation

// A function rather than a template argument: it also takes an instantiation such as `ns::kernel<float, 3>`.
#define SWIZZLE_KERNEL(...)                                                                          \
    namespace swizzle_emulation {                                                                    \
    using KernelSignature = decltype(signature(&__VA_ARGS__));                                       \
    static void call_kernel(void** arguments) { KernelSignature::call(&__VA_ARGS__, arguments); }    \
    const Kernel kernel = {#__VA_ARGS__, KernelSignature::parameters, KernelSignature::count, call_kernel}; \
    }
