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

// What a thread's last __threadfence() orders: its stores after it behind stores that came before (up to number `store`,
// of its own or from before barrier `epoch`), and its loads after it behind what was visible at `time`.
struct Fence {
    uint64_t store = 0, time = 0;
    uint32_t epoch = 0;
};

// ---- emulate_main.cpp ----
std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));
// Answer and end the process. `status` is 'E' for a failure of the kernel, 'A' for arguments that do not fit.
[[noreturn]] void answer_failure(char status, const std::string& message, uintptr_t program_counter);

// ---- emulate_scheduler.cpp ----
void run_grid(const uint64_t grid[3], const uint64_t block[3], unsigned warp_size, unsigned order, unsigned resident,
              void** arguments);
unsigned draw(unsigned n);  // a pseudo-random number below n
void look();                // give the turn to another block, if there is one
Fence& fence_of_current();
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
struct Cell {  // the last write, the last reads by two different threads
    Stamp write, read, other_read, added;  // `added`: the last atomic addition or volatile store
};
struct Shared {  // the shared memory of a block that waits for its turn
    std::vector<char> bytes;
    std::vector<Cell> cells;
};
void swap_shared_memory(Shared (&other)[2]);  // static, dynamic
// Volatile stores to global memory become visible late from now on, in any order that fences and addresses allow, and
// loads may give what was there before.
void delay_stores(unsigned order);
void settle();                    // end the volatile access that the current thread has just made
void made_progress();             // something happened that others may have waited for
void show_all_stores();
uint64_t let_stores_through();    // make some visible; return how often this was called without progress

}  // namespace swizzle_emulation
