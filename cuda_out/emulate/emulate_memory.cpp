// The memory of the emulation: exact bounds of every array, and races.
//
// Kernels are compiled with -fsanitize=thread and a few checks of -fsanitize=undefined but linked without their
// libraries: the calls that the compiler inserts before each load and store are answered here.
//
// Volatile accesses are those by which blocks may speak to each other: they race with others only. Where several blocks
// are resident, their stores wait in a buffer (`Store`), and a log of what became visible (`Shown`) gives loads values
// from before. As the call only announces an access, memory is set up for it and put right at the next call (`settle`).
#include <algorithm>
#include <cstring>
#include <map>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulate_runtime.h"

namespace swizzle_emulation {

namespace {

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

void show_stores_to(uintptr_t address, size_t bytes);

// `atomic`: an atomic addition, or a volatile access.
void touch(uintptr_t address, size_t bytes, bool writes, uintptr_t site, bool atomic = false) {
    settle();
    if (!atomic) show_stores_to(address, bytes);
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
            const char* does = !writes ? "reads" : atomic ? "adds to" : "writes";
            if (unordered(cell.write, stamp)) race(region, i, cell.write, "wrote", does, site);
            if (!atomic && unordered(cell.added, stamp)) race(region, i, cell.added, "added to", does, site);
            if (!writes && atomic) continue;
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

// ---- volatile accesses that others see late ----

struct Bytes {
    uintptr_t address;
    size_t bytes;
    char value[16];

    bool meets(uintptr_t other, size_t count) const { return address < other + count && other < address + bytes; }
    void take() { std::memcpy(value, reinterpret_cast<void*>(address), bytes); }
    void put() const { std::memcpy(reinterpret_cast<void*>(address), value, bytes); }
};
struct Store : Bytes {  // one that others do not see yet
    uint64_t number;
    Stamp by;
    Fence fence;
};
struct Shown : Bytes {  // what was there before a store became visible
    uint64_t time;
};

bool delayed = false;
unsigned delay = 0;
std::vector<Store> stores;  // in the order in which they were made
std::vector<Shown> shown;
std::map<std::pair<uint64_t, uintptr_t>, uint64_t> seen;  // by thread and address: when its last value was visible
uint64_t made = 0, idle = 0;
enum class Access { none, load, store } access = Access::none;
Bytes before_access;

bool must_wait(size_t place) {  // whether a store comes behind another one
    const Store& store = stores[place];
    for (size_t i = 0; i < place; ++i) {
        const Store& other = stores[i];
        if (other.by.block != store.by.block) continue;
        const bool fenced = other.by.thread == store.by.thread || other.by.block_epoch < store.fence.epoch;
        if (other.meets(store.address, store.bytes) || (other.number < store.fence.store && fenced)) return true;
    }
    return false;
}

void show(size_t place) {
    Shown old{stores[place], shown.size() + 1};
    old.take();
    stores[place].put();
    shown.push_back(old);
    stores.erase(stores.begin() + long(place));
    made_progress();
}

void show_stores_to(uintptr_t address, size_t bytes) {
    for (size_t i = 0; i < stores.size(); ++i)
        if (stores[i].meets(address, bytes)) {  // with all that were made before it
            for (; i + 1; --i) show(0);
            return show_stores_to(address, bytes);
        }
}

void load(uintptr_t address, size_t bytes) {
    Bytes found{address, bytes, {}};
    found.take();
    const Stamp self = now();
    for (size_t i = stores.size(); i-- > 0;)
        if (stores[i].by.block == self.block && stores[i].meets(address, bytes)) {
            if (stores[i].address != address || stores[i].bytes != bytes) show_stores_to(address, bytes), found.take();
            else found = stores[i];
            return found.put();
        }
    uint64_t& last = seen[{uint64_t(self.block) << 32 | self.thread, address}];
    const uint64_t present = shown.size(), earliest = std::max(last, fence_of_current().time);
    const bool old = idle < 32 && draw(2) == 0;
    last = old ? earliest + draw(unsigned(present - earliest + 1)) : present;
    for (size_t i = present; i > last; --i) {
        const Shown& one = shown[i - 1];
        for (size_t k = 0; k < one.bytes; ++k)
            if (one.address + k - address < bytes) found.value[one.address + k - address] = one.value[k];
    }
    found.put();
}

void relaxed(uintptr_t address, size_t bytes, bool writes, uintptr_t site) {
    touch(address, bytes, writes, site, true);
    const auto holds = [&](const Region& region) {
        return address - region.base < region.bytes && &region != static_shared && &region != dynamic_shared;
    };
    if (!delayed || std::none_of(regions.begin(), regions.end(), holds)) return;
    if (!writes) look();
    before_access = {address, bytes, {}};
    before_access.take();
    access = writes ? Access::store : Access::load;
    if (!writes) load(address, bytes);
}

}  // namespace

void delay_stores(unsigned order) { delayed = true, delay = 2u << 2 * (order % 3); }
void made_progress() { idle = 0; }

void settle() {
    if (access == Access::none) return;
    Store store{before_access, made, now(), fence_of_current()};
    store.take();
    before_access.put();
    if (access == Access::store) stores.push_back(store), ++made, made_progress();
    access = Access::none;
}

void fence() {
    settle();
    fence_of_current() = {made, shown.size(), now().block_epoch};
}

uint64_t let_stores_through() {
    for (size_t i = stores.size(); i-- > 0;)
        if (draw(idle > 64 ? 1 : delay) == 0 && !must_wait(i)) show(i);
    return ++idle;
}

void show_all_stores() {
    while (!stores.empty()) show(0);
}

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

void swap_shared_memory(Shared (&other)[2]) {
    for (int k : {0, 1}) {
        Region* region = k ? dynamic_shared : static_shared;
        if (!region) continue;
        char* const base = reinterpret_cast<char*>(region->base);
        other[k].bytes.resize(region->bytes), other[k].cells.resize(region->cells.size());
        std::swap_ranges(base, base + region->bytes, other[k].bytes.begin());
        std::swap(region->cells, other[k].cells);
    }
}

#define JOIN(NAME, T, RESULT)                                                                 \
    T NAME(T* address, T value) {                                                             \
        touch(uintptr_t(address), sizeof(T), true, uintptr_t(__builtin_return_address(0)), true); \
        show_stores_to(uintptr_t(address), sizeof(T));                                        \
        made_progress();                                                                      \
        const T old = *address;                                                               \
        *address = RESULT;                                                                    \
        return old;                                                                           \
    }
#define ADD(T) JOIN(atomic_add, T, old + value)
#define BITS(T) JOIN(atomic_and, T, old & value) JOIN(atomic_or, T, old | value) JOIN(atomic_xor, T, old ^ value)
#define ENDS(T) JOIN(atomic_min, T, old < value ? old : value) JOIN(atomic_max, T, old < value ? value : old)
ADD(int) ADD(unsigned) ADD(unsigned long long) ADD(float) ADD(double)
BITS(int) BITS(unsigned) BITS(unsigned long long)
ENDS(int) ENDS(unsigned) ENDS(long long) ENDS(unsigned long long)
#undef ADD
#undef BITS
#undef ENDS
#undef JOIN

// ---- asynchronous copies -----------------------------------------------------------------------------------------

namespace {
struct Copy {
    char* to;
    const char* from;
    unsigned bytes, copied, group;
};
struct Copies {
    unsigned committed = 0;
    std::vector<Copy> begun;
};
std::map<uint64_t, Copies> copies;  // of each thread

Copies& copies_of_current() { return copies[uint64_t(now().block) << 32 | now().thread]; }
}  // namespace

void copy_async(void* to, const void* from, unsigned bytes, unsigned copied) {
    const uintptr_t site = uintptr_t(__builtin_return_address(0));
    if (uintptr_t(to) % bytes || (copied && uintptr_t(from) % bytes)) fail(format("misaligned copy of %u bytes", bytes), site);
    if (copied) touch(uintptr_t(from), copied, false, site);
    touch(uintptr_t(to), bytes, true, site);
    std::memset(to, draw(256), bytes);  // nothing that anybody may use
    Copies& own = copies_of_current();
    own.begun.push_back({static_cast<char*>(to), static_cast<const char*>(from), bytes, copied, own.committed});
}

void commit_copies() { ++copies_of_current().committed; }

void wait_copies(unsigned left) {
    Copies& own = copies_of_current();
    const uintptr_t site = uintptr_t(__builtin_return_address(0));
    size_t kept = 0;
    for (const Copy& copy : own.begun) {
        if (copy.group + left >= own.committed) {
            own.begun[kept++] = copy;
            continue;
        }
        if (copy.copied) touch(uintptr_t(copy.from), copy.copied, false, site);
        touch(uintptr_t(copy.to), copy.bytes, true, site);
        std::memset(copy.to, 0, copy.bytes);
        std::memcpy(copy.to, copy.from, copy.copied);
    }
    own.begun.resize(kept);
}

void* dynamic_shared_memory() { return reinterpret_cast<void*>(dynamic_shared->base); }

}  // namespace swizzle_emulation

// ---- the calls that the compiler inserts -----------------------------------------------------------------------

using swizzle_emulation::fail;
using swizzle_emulation::format;
using swizzle_emulation::relaxed;
using swizzle_emulation::touch;

extern "C" {
#define SITE uintptr_t(__builtin_return_address(0))
#define ACCESS(BYTES)                                                                                 \
    void __tsan_read##BYTES(void* address) { touch(uintptr_t(address), BYTES, false, SITE); }         \
    void __tsan_write##BYTES(void* address) { touch(uintptr_t(address), BYTES, true, SITE); }         \
    void __tsan_unaligned_read##BYTES(void* address) { touch(uintptr_t(address), BYTES, false, SITE); } \
    void __tsan_unaligned_write##BYTES(void* address) { touch(uintptr_t(address), BYTES, true, SITE); } \
    void __tsan_volatile_read##BYTES(void* address) { relaxed(uintptr_t(address), BYTES, false, SITE); } \
    void __tsan_volatile_write##BYTES(void* address) { relaxed(uintptr_t(address), BYTES, true, SITE); }
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
