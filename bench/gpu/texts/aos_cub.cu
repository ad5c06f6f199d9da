// Arrays of structures by CUB's block load: coalesced, then transposed by warps through shared memory.
#include <cub/block/block_load.cuh>

using Load = cub::BlockLoad<unsigned, AOS_THREADS, AOS_WORDS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;

__device__ inline void load(const unsigned* x, unsigned (&mine)[AOS_WORDS], long long n) {
  __shared__ typename Load::TempStorage room;
  const long long begin = blockIdx.x * (long long)AOS_THREADS;
  if (n - begin >= AOS_THREADS)
    Load(room).Load(x + begin * AOS_WORDS, mine);
  else
    Load(room).Load(x + begin * AOS_WORDS, mine, int(n - begin) * AOS_WORDS, 0u);
}

extern "C" __global__ void __launch_bounds__(AOS_THREADS) cub_store(const unsigned* x, unsigned* y, long long n) {
  unsigned mine[AOS_WORDS];
  load(x, mine, n);
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int r = 0; r < AOS_WORDS; ++r) y[r * n + i] = mine[r];
}

extern "C" __global__ void __launch_bounds__(AOS_THREADS) cub_sum(const unsigned* x, unsigned* y, long long n) {
  unsigned mine[AOS_WORDS];
  load(x, mine, n);
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  if (i >= n) return;
  unsigned sum = 0;
#pragma unroll
  for (int r = 0; r < AOS_WORDS; ++r) sum += mine[r];
  y[i] = sum;
}
