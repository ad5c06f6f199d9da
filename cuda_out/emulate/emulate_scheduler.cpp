// The scheduler of the emulation: fibers, warp operations, barriers and blocks.
//
// A thread runs until it waits at a warp operation or a barrier, or exits; then another has its turn. This is stricter
// than hardware: a mask names only lanes that take part, and a barrier is passed by all threads at one place in the
// text or by none. Where several blocks are resident, one of them goes on until each of its threads waits, or is about to
// read a volatile; then another has its turn.
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <utility>

#include <sys/mman.h>
#include <ucontext.h>

#include "emulate.h"
#include "emulate_runtime.h"

// The kernel sees these as constants; they change only while no fiber runs.
uint3 current_thread asm("threadIdx"), current_block asm("blockIdx");
dim3 block_shape asm("blockDim"), grid_shape asm("gridDim");
int lanes_in_warp asm("warpSize");

namespace swizzle_emulation {

namespace {

enum class State : uint8_t { running, looking, shuffling, voting, at_warp_barrier, at_block_barrier, exited };

struct Thread {
    uint3 index;
    unsigned linear, warp, lane;
    uint32_t passed[64];  // for each lane of the warp, how many of its warp barriers come before what runs next
    State state;
    bool started;     // its fiber exists; a fiber serves one thread of every block in turn
    char* stack;
    Fence fence;
    Site site;        // the operation it waits at, with what it brought:
    uint64_t mask;    // all lanes that take part
    unsigned source;  // the lane it reads, when shuffling
    uint64_t bits;    // what it offers, then what it received
    jmp_buf context;
};

constexpr size_t stack_bytes = 256 * 1024, stack_guard = 64 * 1024;
std::vector<Thread> threads;  // of the block whose turn it is, as are `current_block` and shared memory
uint32_t block_epoch = 0;
Thread* current = nullptr;  // the thread whose fiber runs, or null in the scheduler
jmp_buf scheduler;
char* stacks = nullptr;
size_t all_stacks = 0;  // bytes
void** kernel_arguments = nullptr;
unsigned order = 0;
uint64_t random_state = 0;

std::string name(const Thread& thread) {
    return format("thread (%u,%u,%u)", thread.index.x, thread.index.y, thread.index.z);
}

std::string waits(const Thread& thread) {
    if (thread.state == State::exited) return name(thread) + " has exited";
    return name(thread) + format(" waits at %s on line %d", thread.site.name, thread.site.line);
}

std::string at_site(const Thread& thread) {
    return format("%s on line %d by lane %u, mask 0x%08llx: ", thread.site.name, thread.site.line, thread.lane,
                  (unsigned long long)thread.mask);
}

[[noreturn]] void fail_block(const std::string& message) {
    answer_failure('E', format("block (%u,%u,%u): ", current_block.x, current_block.y, current_block.z) + message, 0);
}

// ---- fibers ----

__attribute__((noinline)) void park(State state) {  // on a fiber: let the scheduler go on
    settle();
    Thread* thread = current;
    thread->state = state;
    current = nullptr;
    if (_setjmp(thread->context) == 0) _longjmp(scheduler, 1);
}

void fiber_main() {
    for (;;) {
        kernel.call(kernel_arguments);
        park(State::exited);
    }
}

void resume(Thread& thread) {  // returns when the thread waits or has exited
    thread.state = State::running;
    current_thread = thread.index;
    if (_setjmp(scheduler)) return;
    current = &thread;
    if (thread.started) _longjmp(thread.context, 1);
    thread.started = true;
    static ucontext_t fresh;
    getcontext(&fresh);
    const size_t spread = thread.linear % 61 * 64;  // else all stack tops fall into one set of the cache
    fresh.uc_stack.ss_sp = thread.stack + stack_guard;
    fresh.uc_stack.ss_size = stack_bytes - stack_guard - spread;
    fresh.uc_link = nullptr;
    makecontext(&fresh, fiber_main, 0);
    setcontext(&fresh);
}

void on_signal(int signal, siginfo_t* info, void* context) {
    uintptr_t program_counter = 0;
#if defined(__x86_64__)
    program_counter = uintptr_t(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    program_counter = uintptr_t(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#endif
    if (signal == SIGALRM) fail("still runs at the time limit", program_counter);
    if (signal == SIGFPE) fail("division by zero, or an overflow of it", program_counter);
    if (signal == SIGILL || signal == SIGABRT) fail("the kernel gave up", program_counter);
    const char* at = static_cast<char*>(info->si_addr);
    const bool overflow = current && at >= stacks && at < stacks + all_stacks;
    fail(overflow ? "stack overflow: too much local memory" : format("illegal access at address %p", info->si_addr),
         program_counter);
}

void catch_signals() {
    static char signal_stack[64 * 1024];
    stack_t alternative{};
    alternative.ss_sp = signal_stack;
    alternative.ss_size = sizeof signal_stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) sigaction(signal, &action, nullptr);
}

// ---- one block ----

// The order in which n lanes, warps or blocks take their turns: 0 ascending, 1 descending, else pseudo-random.
const std::vector<unsigned>& turns(std::vector<unsigned>& turn, unsigned n) {
    turn.resize(n);
    for (unsigned i = 0; i < n; ++i) turn[i] = order == 1 ? n - 1 - i : i;
    for (unsigned i = n; order > 1 && i > 1; --i) std::swap(turn[i - 1], turn[draw(i)]);
    return turn;
}

bool is_warp_operation(const Thread& thread) {
    return thread.state == State::shuffling || thread.state == State::voting || thread.state == State::at_warp_barrier;
}

// Whether every lane in the thread's mask waits at the same operation with the same mask.
bool all_arrived(const Thread& thread, const Thread* warp, unsigned lanes) {
    if (!(thread.mask >> thread.lane & 1)) fail_block(at_site(thread) + "the lane is not in its own mask");
    if (lanes < 64 && thread.mask >> lanes) fail_block(at_site(thread) + "the mask names lanes that do not exist");
    bool all = true;
    for (unsigned i = 0; i < lanes; ++i) {
        const Thread& other = warp[i];
        if (!(thread.mask >> i & 1)) continue;
        if (other.state == State::exited)
            fail_block(at_site(thread) + format("the mask names lane %u, but ", i) + waits(other));
        all &= other.state == thread.state && other.mask == thread.mask && other.site.id == thread.site.id;
    }
    return all;
}

bool complete_warp_operations(Thread* warp, unsigned lanes) {  // whether any lane may go on
    uint64_t received[64], done = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const Thread& thread = warp[i];
        if (!is_warp_operation(thread) || !all_arrived(thread, warp, lanes)) continue;
        done |= uint64_t(1) << i;
        if (thread.state == State::shuffling) {
            if (thread.source >= lanes || !(thread.mask >> thread.source & 1))
                fail_block(at_site(thread) + format("reads lane %u, which is not in the mask", thread.source));
            received[i] = warp[thread.source].bits;
        } else {
            received[i] = 0;
            for (unsigned j = 0; j < lanes; ++j)
                if (thread.mask >> j & 1 && warp[j].bits) received[i] |= uint64_t(1) << j;
        }
    }
    for (unsigned i = 0; i < lanes; ++i)
        if (done >> i & 1 && warp[i].state == State::at_warp_barrier) ++warp[i].passed[i];
    for (unsigned i = 0; i < lanes; ++i) {  // who meets knows what each of them knew
        if (!(done >> i & 1) || warp[i].state != State::at_warp_barrier) continue;
        for (unsigned j = 0; j < lanes; ++j)
            if (warp[i].mask >> j & 1)
                for (unsigned k = 0; k < lanes; ++k)
                    warp[i].passed[k] = std::max(warp[i].passed[k], warp[j].passed[k]);
    }
    for (unsigned i = 0; i < lanes; ++i) {
        if (!(done >> i & 1)) continue;
        warp[i].bits = received[i];
        warp[i].state = State::running;
    }
    return done != 0;
}

void run_warp(unsigned warp, unsigned lanes) {  // until each lane has exited or waits for others
    static std::vector<unsigned> turn;
    Thread* first = &threads[size_t(warp) * unsigned(lanes_in_warp)];
    do {
        for (unsigned lane : turns(turn, lanes))
            if (first[lane].state == State::running) resume(first[lane]);
    } while (complete_warp_operations(first, lanes));
}

bool pass_block_barrier() {  // false when all threads have exited
    const Thread* waiting = nullptr;
    const Thread* exited = nullptr;
    for (const Thread& thread : threads) {
        if (thread.state == State::exited) exited = &thread;
        if (thread.state == State::at_block_barrier) waiting = &thread;
        if (!is_warp_operation(thread)) continue;
        for (const Thread& other : threads)  // name a lane that it waits for in vain
            if (other.warp == thread.warp && thread.mask >> other.lane & 1 && &other != &thread &&
                (other.state != thread.state || other.site.id != thread.site.id || other.mask != thread.mask))
                fail_block("divergent warp operation: " + waits(thread) + ", but " + waits(other));
        fail_block("stuck: " + waits(thread));
    }
    if (!waiting) return false;
    if (exited) fail_block("divergent barrier: " + waits(*waiting) + ", but " + waits(*exited));
    for (Thread& thread : threads) {
        if (thread.site.id != waiting->site.id)
            fail_block("divergent barrier: " + waits(*waiting) + ", but " + waits(thread));
        thread.state = State::running;
    }
    uint64_t seen = 0;  // what a thread must see, all threads must see behind a barrier
    for (const Thread& thread : threads) seen = std::max(seen, thread.fence.time);
    for (Thread& thread : threads) thread.fence.time = seen;
    ++block_epoch;
    return true;
}

void begin_block(unsigned number) {
    const Coordinates at = block_at(number);
    current_block = {at.x, at.y, at.z};
    constexpr int poisons[] = {0xff, 0xa5, 0x5a, 0x7e};  // 0xff first: NaN of every float type, and -1
    poison_shared_memory(poisons[order % 4]);
    block_epoch = 0;
    for (Thread& thread : threads) {
        thread.state = State::running;
        thread.fence = {};
        std::fill(std::begin(thread.passed), std::end(thread.passed), 0u);
    }
}

bool advance_block() {  // until each thread waits, or looks at a volatile; false when all threads have exited
    static std::vector<unsigned> turn;
    const unsigned count = unsigned(threads.size()), width = unsigned(lanes_in_warp);
    for (unsigned warp : turns(turn, (count + width - 1) / width))
        run_warp(warp, std::min(width, count - warp * width));
    bool looks = false;
    for (Thread& thread : threads) {
        looks |= thread.state == State::looking;
        if (thread.state == State::looking) thread.state = State::running;
    }
    if (looks) return true;
    made_progress();
    return pass_block_barrier();
}

// ---- several blocks that take turns ----

struct Resident {  // a block that waits for its turn
    std::vector<Thread> threads;
    uint3 index;
    uint32_t epoch;
    Shared shared[2];
    bool begun;
};

void swap_with(Resident& block) {
    std::swap(threads, block.threads);
    std::swap(current_block, block.index);
    std::swap(block_epoch, block.epoch);
    swap_shared_memory(block.shared);
}

void run_in_turns(std::vector<Resident>& blocks, const std::vector<unsigned>& numbers) {
    size_t next = 0;
    const Resident* held = nullptr;  // has no turn until the others get no further, so that these go far ahead
    for (uint64_t since = 0;;) {
        if (since > 4 * blocks.size() || draw(256) == 0) held = nullptr;
        std::vector<Resident*> ready;
        for (Resident& block : blocks)
            if (&block != held && (block.begun || next < numbers.size())) ready.push_back(&block);
        if (ready.empty() && !std::exchange(held, nullptr)) return;
        if (ready.empty()) continue;
        Resident& block = *ready[order == 0 ? since % ready.size() : draw(unsigned(ready.size()))];
        swap_with(block);
        if (!block.begun) begin_block(numbers[next++]), block.begun = true, made_progress();
        block.begun = advance_block();
        if (!held && order > 1 && draw(8) == 0) held = &block;
        since = let_stores_through();
        if (since > 400 * blocks.size())
            fail_block(format("it and %zu other blocks wait for what none of them stores; %zu blocks have not begun",
                              blocks.size() - 1, numbers.size() - next));
        swap_with(block);
    }
}

void start_threads(unsigned slot) {
    const unsigned count = block_shape.x * block_shape.y * block_shape.z, width = unsigned(lanes_in_warp);
    threads.resize(count);
    for (unsigned i = 0; i < count; ++i) {
        const Coordinates at = thread_at(i);
        threads[i].index = {at.x, at.y, at.z};
        threads[i].linear = i;
        threads[i].warp = i / width;
        threads[i].lane = i % width;
        threads[i].started = false;
        threads[i].stack = stacks + (size_t(slot) * count + i) * stack_bytes;
        mprotect(threads[i].stack, stack_guard, PROT_NONE);
    }
}

void make_stacks(unsigned resident) {
    all_stacks = size_t(resident) * block_shape.x * block_shape.y * block_shape.z * stack_bytes;
    stacks = static_cast<char*>(
        mmap(nullptr, all_stacks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED) fail("not enough memory for the threads' stacks");
}

Coordinates split(uint32_t linear, unsigned x, unsigned y) { return {linear % x, linear / x % y, linear / x / y}; }

uint64_t whole_mask(uint32_t mask) {  // all ones means every lane of the warp that exists, whatever the warp size
    if (mask != 0xffffffffu) return mask;
    const unsigned width = unsigned(lanes_in_warp), first = current->warp * width;
    const unsigned lanes = std::min(width, unsigned(threads.size()) - first);
    return lanes == 64 ? ~uint64_t(0) : (uint64_t(1) << lanes) - 1;
}

uint64_t meet(State state, Site site, uint64_t mask, unsigned source, uint64_t bits) {
    Thread& thread = *current;
    thread.site = site;
    thread.mask = mask;
    thread.source = source;
    thread.bits = bits;
    park(state);
    return thread.bits;
}

}  // namespace

void fail(const std::string& message, uintptr_t program_counter) {
    std::string where;
    if (current)
        where = format("block (%u,%u,%u), ", current_block.x, current_block.y, current_block.z) + name(*current) + ": ";
    answer_failure('E', where + message, program_counter);
}

void run_grid(const uint64_t grid[3], const uint64_t block[3], unsigned warp_size, unsigned turn_order,
              unsigned resident, void** arguments) {
    catch_signals();
    grid_shape = dim3(unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2]));
    block_shape = dim3(unsigned(block[0]), unsigned(block[1]), unsigned(block[2]));
    lanes_in_warp = int(warp_size);
    order = turn_order;
    random_state = turn_order;
    kernel_arguments = arguments;
    std::vector<unsigned> turn;
    turns(turn, grid_shape.x * grid_shape.y * grid_shape.z);
    resident = std::min(resident, unsigned(turn.size()));
    make_stacks(resident);
    if (resident > 1) {
        delay_stores(order);
        std::vector<Resident> blocks(resident);
        for (unsigned slot = 0; slot < resident; ++slot) start_threads(slot), std::swap(threads, blocks[slot].threads);
        run_in_turns(blocks, turn);
        return;
    }
    start_threads(0);
    for (unsigned number : turn) {
        begin_block(number);
        while (advance_block()) {}
    }
}

unsigned draw(unsigned n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return unsigned(random_state >> 33) % n;
}
void look() { park(State::looking); }
Fence& fence_of_current() { return current->fence; }

Coordinates thread_at(uint32_t linear) { return split(linear, block_shape.x, block_shape.y); }
Coordinates block_at(uint32_t linear) { return split(linear, grid_shape.x, grid_shape.y); }

Stamp now() {
    const uint32_t block = current_block.x + grid_shape.x * (current_block.y + grid_shape.y * current_block.z);
    return {block, current->linear, current->warp, block_epoch, current->passed[current->lane]};
}
bool comes_after(const Stamp& before) {
    return current->passed[before.thread % unsigned(lanes_in_warp)] > before.barriers;
}

uint64_t shuffle(Site site, uint32_t mask, unsigned source, uint64_t bits) {
    return meet(State::shuffling, site, whole_mask(mask), source, bits);
}
uint64_t vote(Site site, uint32_t mask, bool predicate) {
    return meet(State::voting, site, whole_mask(mask), 0, predicate);
}
void warp_barrier(Site site, uint32_t mask) { meet(State::at_warp_barrier, site, whole_mask(mask), 0, 0); }
void block_barrier(Site site) { meet(State::at_block_barrier, site, 0, 0, 0); }
unsigned lane_id() { return current->lane; }
void refuse(Site site, const char* format_text, int value) {
    char text[256];
    snprintf(text, sizeof text, format_text, value);
    fail(format("%s on line %d: ", site.name, site.line) + text);
}

}  // namespace swizzle_emulation
