// The host's side of CUDA for a printed launch function: what it launches is noted, not run.
#pragma once
#include "emulate.h"
#undef __CUDACC_RTC__
#undef __CUDA_ARCH__
#include <cstdio>
#include <initializer_list>

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevicePointer = 17,
    cudaErrorMisalignedAddress = 716,
    cudaErrorLaunchFailure = 719,
    cudaErrorNotSupported = 801,
    cudaErrorUnknown = 999
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
struct CUstream_st;
typedef CUstream_st* cudaStream_t;

namespace swizzle_host {
using Word = unsigned long long;

inline cudaError_t last = cudaSuccess, of_launch = cudaSuccess;
inline int launches = 0;
constexpr size_t SMALL = 48 << 10;   // bytes of shared memory that each launch may ask for
inline size_t room = SMALL;          // bytes that the device allows
inline const void* allowed_to = nullptr;  // the kernel that may ask for more
inline size_t allowed = SMALL, shared_bytes = 0;
inline cudaStream_t stream_given = nullptr;

template <class Own> struct Scalar {  // becomes a number of its own type, and of no other
    Word word;
    operator Own() const {
        Own own;
        __builtin_memcpy(&own, &word, sizeof own);
        return own;
    }
    template <class Other> operator Other() const = delete;
};

struct Argument {  // becomes whatever the function takes
    Word word;
    template <class T> operator T*() const { return reinterpret_cast<T*>(word); }
    operator long long() const { return static_cast<long long>(word); }
};

template <class T> Word word(const T& value) {
    static_assert(sizeof value <= sizeof(Word), "no argument of a kernel has more bytes");
    Word found = 0;
    __builtin_memcpy(&found, &value, sizeof value);
    return found;
}

inline void configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
    printf(" launch %u %u %u %u %u %u", grid.x, grid.y, grid.z, block.x, block.y, block.z);
    shared_bytes = shared, stream_given = stream;
    ++launches;
}
inline void launched(const void* kernel, std::initializer_list<Word> arguments) {
    const bool may = shared_bytes <= SMALL || (kernel == allowed_to && shared_bytes <= allowed);
    printf(" %llu %llu", Word(may ? shared_bytes : 0), word(stream_given));
    for (const Word each : arguments) printf(" %llu", each);
    last = may ? of_launch : cudaErrorInvalidValue;
}
template <class Call> void call(cudaError_t result, size_t bytes, Call&& function) {
    last = cudaSuccess, of_launch = result, allowed = SMALL, allowed_to = nullptr, room = bytes;
    const int status = int(function());
    printf(" status %d\n", status);
}
}  // namespace swizzle_host

inline cudaError_t cudaGetLastError() {
    const cudaError_t found = swizzle_host::last;
    swizzle_host::last = cudaSuccess;
    return found;
}
inline cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || size_t(value) > swizzle_host::room) return swizzle_host::last = cudaErrorInvalidValue;
    swizzle_host::allowed = size_t(value), swizzle_host::allowed_to = kernel;
    return cudaSuccess;
}
inline cudaError_t cudaPeekAtLastError() { return swizzle_host::last; }
