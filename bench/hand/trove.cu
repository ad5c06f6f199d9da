// Structures of S words by bryancatanzaro/trove, from a checkout: whole warps, which is its fast way.
#include <trove/aos.h>

struct Structure {
  int word[S];
};

extern "C" __global__ void __launch_bounds__(128) trove_sum(const Structure* x, unsigned* y, long long n) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  const Structure mine = trove::load_warp_contiguous(x + i);
  unsigned sum = 0;
#pragma unroll
  for (int r = 0; r < S; ++r) sum += unsigned(mine.word[r]);
  if (i < n) y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(128) trove_store(const Structure* x, unsigned* y, long long n) {
  const long long i = blockIdx.x * 128ll + threadIdx.x;
  const Structure mine = trove::load_warp_contiguous(x + i);
  if (i >= n) return;
#pragma unroll
  for (int r = 0; r < S; ++r) y[r * n + i] = unsigned(mine.word[r]);
}
