// Arrays of structures by CUB's block load: coalesced, then transposed by warps through shared memory.
#include <cub/block/block_load.cuh>

using Load = cub::BlockLoad<unsigned, THREADS, S, cub::BLOCK_LOAD_WARP_TRANSPOSE>;

__device__ inline void load(const unsigned* x, unsigned (&mine)[S], long long n) {
  __shared__ typename Load::TempStorage room;
  const long long begin = blockIdx.x * (long long)THREADS;
  if (n - begin >= THREADS)
    Load(room).Load(x + begin * S, mine);
  else
    Load(room).Load(x + begin * S, mine, int(n - begin) * S, 0u);
}

extern "C" __global__ void __launch_bounds__(THREADS) cub_store(const unsigned* x, unsigned* y, long long n) {
  unsigned mine[S];
  load(x, mine, n);
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int r = 0; r < S; ++r) y[r * n + i] = mine[r];
}

extern "C" __global__ void __launch_bounds__(THREADS) cub_sum(const unsigned* x, unsigned* y, long long n) {
  unsigned mine[S];
  load(x, mine, n);
  const long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
  if (i >= n) return;
  unsigned sum = 0;
#pragma unroll
  for (int r = 0; r < S; ++r) sum += mine[r];
  y[i] = sum;
}
