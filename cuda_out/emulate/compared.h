// What a host function compares is printed: the numbers on both sides, and from where. The compiler puts in the calls
// (-fsanitize-coverage=trace-cmp). What is here compares nothing, or it would call itself.
#pragma once
#include "host.h"
#define COMPARED(name, type, own, spelling)                                                                 \
    extern "C" void __sanitizer_cov_trace_##name(type a, type b) {                                          \
        printf(" at %lu " spelling " " spelling, (unsigned long)__builtin_return_address(0), own(a), own(b)); \
    }
#define COMPARED_NUMBERS(bytes, type, own, spelling)  \
    COMPARED(cmp##bytes, type, own, spelling)         \
    COMPARED(const_cmp##bytes, type, own, spelling)
COMPARED_NUMBERS(1, unsigned char, (signed char), "%d")
COMPARED_NUMBERS(2, unsigned short, (short), "%d")
COMPARED_NUMBERS(4, unsigned, (int), "%d")
COMPARED_NUMBERS(8, unsigned long, (long), "%ld")
COMPARED(cmpf, float, double, "%a")
COMPARED(cmpd, double, double, "%a")
extern "C" void __sanitizer_cov_trace_switch(unsigned long value, void* cases) {
    const unsigned long* const of = static_cast<const unsigned long*>(cases);  // how many, how wide, each
    for (unsigned long at = 0; at < of[0]; ++at) printf(" at %lu %ld %ld", (unsigned long)(of + 2 + at), long(value), long(of[2 + at]));
}
