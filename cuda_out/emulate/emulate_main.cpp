// The program that emulate.py builds around one kernel and talks to.
//
// It reads one request (grid, block, arguments) from its standard input, runs the kernel that it was linked with and
// answers the arrays or the first failure on its standard output. It is a process of its own, so nothing a kernel
// does can harm the process that asked.
#include <cstdarg>
#include <cstdio>
#include <unistd.h>

#include "emulate.h"
#include "emulate_runtime.h"

namespace swizzle_emulation {

namespace {

int answer = -1;  // file descriptor

void send(const void* bytes, size_t count) {
    for (const char* at = static_cast<const char*>(bytes); count;) {
        const ssize_t sent = write(answer, at, count);
        if (sent <= 0) _exit(2);
        at += sent;
        count -= size_t(sent);
    }
}

struct Request {  // as emulate.py packs it
    uint64_t grid[3], block[3], warp_size, order, resident, shared_bytes, seconds, arguments;
};
struct Argument {
    char kind;  // NumPy's letter
    char is_array, padding[6];
    uint64_t item_bytes, bytes;
};

template <class T> void receive(T* values, size_t count) {
    char* at = reinterpret_cast<char*>(values);
    for (size_t left = count * sizeof(T); left;) {
        const ssize_t got = read(0, at, left);
        if (got <= 0) _exit(2);
        at += got;
        left -= size_t(got);
    }
}

void check(const Argument& argument, const Parameter& parameter, size_t index) {
    const bool sized = parameter.size == argument.item_bytes, record = argument.kind == 'V' && !parameter.pointer;
    const bool same = sized && parameter.kind == argument.kind;
    const bool fits = record ? sized : parameter.kind == '?';
    if ((same || fits) && parameter.pointer == bool(argument.is_array)) return;
    answer_failure('A',
                   format("argument %zu is %s of type %c%llu, but %s takes %s of type %c%u", index,
                          argument.is_array ? "an array" : "a scalar", argument.kind,
                          (unsigned long long)argument.item_bytes, kernel.name,
                          parameter.pointer ? "an array" : "a scalar", parameter.kind, parameter.size),
                   0);
}

int serve() {
    answer = dup(1);
    dup2(2, 1);  // a kernel's own printing is not an answer

    Request request;
    receive(&request, 1);
    std::vector<Argument> arguments(request.arguments);
    receive(arguments.data(), arguments.size());
    if (request.arguments != kernel.count)
        answer_failure('A', format("%s takes %u arguments, not %llu", kernel.name, kernel.count,
                                   (unsigned long long)request.arguments), 0);
    std::vector<void*> pointers(kernel.count), values(kernel.count);
    for (size_t i = 0; i < arguments.size(); ++i) {
        check(arguments[i], kernel.parameters[i], i);
        if (arguments[i].is_array)
            pointers[i] = allocate(format("argument %zu", i), arguments[i].bytes, arguments[i].item_bytes);
        else
            pointers[i] = new uint64_t[(arguments[i].bytes + 7) / 8]();
        receive(static_cast<char*>(pointers[i]), arguments[i].bytes);
        values[i] = arguments[i].is_array ? &pointers[i] : pointers[i];
    }
    alarm(unsigned(request.seconds));
    find_shared_memory(request.shared_bytes);
    run_grid(request.grid, request.block, unsigned(request.warp_size), unsigned(request.order),
             unsigned(request.resident), values.data());
    show_all_stores();
    send("K", 1);
    for (size_t i = 0; i < arguments.size(); ++i) send(kernel.parameters[i].writable ? "W" : "-", 1);
    for (size_t i = 0; i < arguments.size(); ++i)
        if (kernel.parameters[i].writable) send(pointers[i], arguments[i].bytes);
    _exit(0);
}

}  // namespace

std::string format(const char* text, ...) {
    char buffer[512];
    va_list values;
    va_start(values, text);
    vsnprintf(buffer, sizeof buffer, text, values);
    va_end(values);
    return buffer;
}

void answer_failure(char status, const std::string& message, uintptr_t program_counter) {
    const uint64_t place = program_counter;
    send(&status, 1);
    send(&place, sizeof place);
    send(message.data(), message.size());
    _exit(0);
}

}  // namespace swizzle_emulation

int main() { return swizzle_emulation::serve(); }
