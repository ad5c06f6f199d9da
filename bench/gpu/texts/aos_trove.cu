// Arrays of structures by bryancatanzaro/trove, from a checkout: whole warps by its own load, the last one directly.
#include <trove/aos.h>

struct Structure {
  int word[AOS_WORDS];
};

__device__ inline Structure load(const unsigned* x, long long i, long long n) {
  const Structure* const all = reinterpret_cast<const Structure*>(x);
  if (i - threadIdx.x % 32 + 32 <= n) return trove::load_warp_contiguous(all + i);
  return i < n ? all[i] : Structure();
}

extern "C" __global__ void __launch_bounds__(AOS_THREADS) trove_store(const unsigned* x, unsigned* y, long long n) {
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  const Structure mine = load(x, i, n);
  if (i >= n) return;
#pragma unroll
  for (int r = 0; r < AOS_WORDS; ++r) y[r * n + i] = unsigned(mine.word[r]);
}

extern "C" __global__ void __launch_bounds__(AOS_THREADS) trove_sum(const unsigned* x, unsigned* y, long long n) {
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  const Structure mine = load(x, i, n);
  if (i >= n) return;
  unsigned sum = 0;
#pragma unroll
  for (int r = 0; r < AOS_WORDS; ++r) sum += unsigned(mine.word[r]);
  y[i] = sum;
}
