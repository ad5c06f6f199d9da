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

// The bytes of a structure follow from a word: eight at a time, each time with another mask.
inline Word nth(Word word, size_t at) { return word ^ (at / sizeof(Word) * 0x9E3779B97F4A7C15ull); }

struct Record {  // becomes a structure
    Word word;
    template <class T> operator T() const {
        T made;
        for (size_t at = 0; at < sizeof made; at += sizeof(Word)) {
            const Word part = nth(word, at);
            const size_t left = sizeof made - at;
            __builtin_memcpy(reinterpret_cast<char*>(&made) + at, &part, left < sizeof part ? left : sizeof part);
        }
        return made;
    }
};

template <class T> Word word(const T& value) {
    Word found = 0;
    const void* const bytes = &value;
    __builtin_memcpy(&found, bytes, sizeof value < sizeof found ? sizeof value : sizeof found);
    for (size_t at = 0; at < sizeof value; at += sizeof found) {  // of a structure whose bytes are others, another word
        Word part = 0;
        const size_t left = sizeof value - at, size = left < sizeof part ? left : sizeof part;
        __builtin_memcpy(&part, static_cast<const char*>(bytes) + at, size);
        const Word wanted = nth(found, at) << 8 * (sizeof part - size) >> 8 * (sizeof part - size);
        if (part != wanted) return ~found;
    }
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
