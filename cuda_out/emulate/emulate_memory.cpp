// The memory of the emulation: exact bounds of every array, and races.
//
// Kernels are compiled with -fsanitize=thread and a few checks of -fsanitize=undefined but linked without their
// libraries: the calls that the compiler inserts before each load and store are answered here.
#include <cstring>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulate_runtime.h"

namespace swizzle_emulation {

namespace {

struct Cell {  // the last write, the last reads by two different threads
    Stamp write, read, other_read, added;  // `added`: the last atomic addition
};

struct Region {
    std::string name;
    uintptr_t base;
    size_t bytes, guard, cell;  // `guard` bytes on either side belong to no array
    std::vector<Cell> cells;
};

std::vector<Region> regions;
Region* static_shared = nullptr;
Region* dynamic_shared = nullptr;

bool unordered(const Stamp& before, const Stamp& after) {
    if (before.block == UINT32_MAX) return false;
    if (before.block != after.block) return true;
    if (before.thread == after.thread || before.block_epoch != after.block_epoch) return false;
    return before.warp != after.warp || !comes_after(before);
}

std::string who(const Stamp& stamp) {
    const Coordinates b = block_at(stamp.block), t = thread_at(stamp.thread);
    return format("block (%u,%u,%u) thread (%u,%u,%u)", b.x, b.y, b.z, t.x, t.y, t.z);
}

[[noreturn]] void race(const Region& region, size_t cell, const Stamp& before, const char* did, const char* does,
                       uintptr_t site) {
    fail(format("race on %s, %s %zu: %s what %s %s with no barrier between", region.name.c_str(),
                region.cell == 1 ? "byte" : "element", cell, does, who(before).c_str(), did),
         site);
}

void touch(uintptr_t address, size_t bytes, bool writes, uintptr_t site, bool atomic = false) {
    for (Region& region : regions) {
        if (address + bytes <= region.base - region.guard || address >= region.base + region.bytes + region.guard)
            continue;
        if (address < region.base || address + bytes > region.base + region.bytes) {
            const long long offset = (long long)(address - region.base) / (long long)region.cell;
            fail(format("out of bounds: %s %zu bytes at %s %lld of %s, which has %zu", writes ? "writes" : "reads",
                        bytes, region.cell == 1 ? "byte" : "element", offset, region.name.c_str(),
                        region.bytes / region.cell),
                 site);
        }
        const Stamp stamp = now();
        const size_t first = (address - region.base) / region.cell;
        const size_t last = (address + bytes - 1 - region.base) / region.cell;
        for (size_t i = first; i <= last; ++i) {
            Cell& cell = region.cells[i];
            const char* does = atomic ? "adds to" : writes ? "writes" : "reads";
            if (unordered(cell.write, stamp)) race(region, i, cell.write, "wrote", does, site);
            if (!atomic && unordered(cell.added, stamp)) race(region, i, cell.added, "added to", does, site);
            if (!writes) {
                if (cell.read.block != stamp.block || cell.read.thread != stamp.thread) cell.other_read = cell.read;
                cell.read = stamp;
                continue;
            }
            for (const Stamp& read : {cell.read, cell.other_read})
                if (unordered(read, stamp)) race(region, i, read, "read", does, site);
            (atomic ? cell.added : cell.write) = stamp;
        }
        return;
    }
}

char* reserve(size_t bytes, size_t guard) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE)), whole = (bytes + page - 1) / page * page;
    char* start = static_cast<char*>(
        mmap(nullptr, whole + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (start == MAP_FAILED || (whole && mprotect(start + guard, whole, PROT_READ | PROT_WRITE)))
        fail(format("not enough memory for %zu bytes", bytes));
    return start + guard;
}

int find_thread_local(dl_phdr_info* info, size_t, void* result) {  // the first object is the program itself
    for (int i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<Region*>(result) = {"shared memory", uintptr_t(info->dlpi_tls_data),
                                             info->dlpi_phdr[i].p_memsz, 4096, 1, {}};
    return 1;
}

}  // namespace

char* allocate(const std::string& name, size_t bytes, size_t cell) {
    const size_t guard = size_t(1) << 20;
    char* base = reserve(bytes, guard);
    regions.push_back({name, uintptr_t(base), bytes, guard, cell, std::vector<Cell>((bytes + cell - 1) / cell)});
    return base;
}

void find_shared_memory(size_t dynamic_bytes) {
    allocate("dynamic shared memory", dynamic_bytes, 1);
    const size_t dynamic_index = regions.size() - 1;
    Region found{};
    dl_iterate_phdr(find_thread_local, &found);
    if (found.bytes) {
        found.cells.resize(found.bytes);
        regions.push_back(found);
        static_shared = &regions.back();
    }
    dynamic_shared = &regions[dynamic_index];
}

void poison_shared_memory(int byte) {
    for (Region* region : {static_shared, dynamic_shared}) {
        if (!region) continue;
        std::memset(reinterpret_cast<void*>(region->base), byte, region->bytes);
        region->cells.assign(region->cells.size(), Cell{});
    }
}

#define ADD(T)                                                                                \
    T atomic_add(T* address, T value) {                                                       \
        touch(uintptr_t(address), sizeof(T), true, uintptr_t(__builtin_return_address(0)), true); \
        const T old = *address;                                                               \
        *address = old + value;                                                               \
        return old;                                                                           \
    }
ADD(int) ADD(unsigned) ADD(unsigned long long) ADD(float) ADD(double)
#undef ADD

void* dynamic_shared_memory() { return reinterpret_cast<void*>(dynamic_shared->base); }

}  // namespace swizzle_emulation

// ---- the calls that the compiler inserts -----------------------------------------------------------------------

using swizzle_emulation::fail;
using swizzle_emulation::format;
using swizzle_emulation::touch;

extern "C" {
#define SITE uintptr_t(__builtin_return_address(0))
#define ACCESS(BYTES)                                                                                 \
    void __tsan_read##BYTES(void* address) { touch(uintptr_t(address), BYTES, false, SITE); }         \
    void __tsan_write##BYTES(void* address) { touch(uintptr_t(address), BYTES, true, SITE); }         \
    void __tsan_unaligned_read##BYTES(void* address) { touch(uintptr_t(address), BYTES, false, SITE); } \
    void __tsan_unaligned_write##BYTES(void* address) { touch(uintptr_t(address), BYTES, true, SITE); }
ACCESS(1) ACCESS(2) ACCESS(4) ACCESS(8) ACCESS(16)
#undef ACCESS
void __tsan_read_range(void* address, size_t bytes) { touch(uintptr_t(address), bytes, false, SITE); }
void __tsan_write_range(void* address, size_t bytes) { touch(uintptr_t(address), bytes, true, SITE); }
void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    if (bytes) touch(uintptr_t(from), bytes, false, SITE);
    if (bytes) touch(uintptr_t(to), bytes, true, SITE);
    return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    if (bytes) touch(uintptr_t(from), bytes, false, SITE);
    if (bytes) touch(uintptr_t(to), bytes, true, SITE);
    return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int byte, size_t bytes) {
    if (bytes) touch(uintptr_t(to), bytes, true, SITE);
    return std::memset(to, byte, bytes);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

void __ubsan_handle_out_of_bounds(void*, void* index) {
    fail(format("index %lld is outside its array", (long long)(int64_t)index), SITE);
}
void __ubsan_handle_type_mismatch_v1(void*, void* address) {
    fail(format("misaligned access at %p", address), SITE);
}
void __ubsan_handle_shift_out_of_bounds(void*, void*, void* count) {
    fail(format("shift by %lld bits", (long long)(int64_t)count), SITE);
}
void __ubsan_handle_divrem_overflow(void*, void*, void*) { fail("division by zero, or an overflow of it", SITE); }
}  // extern "C"
