// What the parts of the emulation's runtime know of each other: who runs, and what memory there is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace swizzle_emulation {

struct Coordinates {
    unsigned x, y, z;
};

// When and by whom memory was touched. Two touches are ordered when one thread made both, when a __syncthreads lies
// between them (an earlier `block_epoch`), or a chain of __syncwarps, each of whose masks names the lanes that it orders:
// `barriers` are those that the thread had passed, and each thread knows how many of each other lane's are before it.
// Nothing orders the threads of two blocks.
struct Stamp {
    uint32_t block = UINT32_MAX, thread = 0, warp = 0, block_epoch = 0, barriers = 0;
};

// ---- emulate_main.cpp ----
std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));
// Answer and end the process. `status` is 'E' for a failure of the kernel, 'A' for arguments that do not fit.
[[noreturn]] void answer_failure(char status, const std::string& message, uintptr_t program_counter);

// ---- emulate_scheduler.cpp ----
void run_grid(const uint64_t grid[3], const uint64_t block[3], unsigned warp_size, unsigned order, void** arguments);
Stamp now();
bool comes_after(const Stamp& before);  // whether warp barriers order the current thread after what another one did
Coordinates thread_at(uint32_t linear);
Coordinates block_at(uint32_t linear);
// Answer the one failure of this run, with the thread that runs, and end the process. `program_counter` or 0.
[[noreturn]] void fail(const std::string& message, uintptr_t program_counter = 0);

// ---- emulate_memory.cpp ----
char* allocate(const std::string& name, size_t bytes, size_t cell);  // zeroed, bounds-checked, raced on
void find_shared_memory(size_t dynamic_bytes);
void poison_shared_memory(int byte);  // new contents for a new block
void* dynamic_shared_memory();        // also called by kernels, in place of an `extern __shared__` array

}  // namespace swizzle_emulation
