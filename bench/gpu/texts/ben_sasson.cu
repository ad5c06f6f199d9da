// The kernels of a checkout of HamilM/GpuBinFieldMult, called as functions. Its shuffles are CUDA 8's, all lanes taking
// part; its kernels become functions, so that one entry takes the arrays that everybody else takes.
#define __shfl(value, lane) __shfl_sync(0xffffffffu, value, lane)
#define __shfl_up(value, delta) __shfl_up_sync(0xffffffffu, value, delta)
#define __shfl_down(value, delta) __shfl_down_sync(0xffffffffu, value, delta)
#pragma push_macro("__global__")
#undef __global__
#define __global__ __device__
__constant__ unsigned int pentanomial[5] = {0, T, S, R, D};
#include <ChunkPOC.cuh>
#pragma pop_macro("__global__")

// n counts words: D of them are 32 elements.
extern "C" __global__ void ben_sasson(unsigned* a, unsigned* b, unsigned* c, long long n) {
  const unsigned size = unsigned(n / D);
#if FIELD
  typedef unsigned Elements[ROUNDED(D)];
  finiteFieldMultiplyArrays<D>(
      reinterpret_cast<Elements*>(a), reinterpret_cast<Elements*>(b), reinterpret_cast<Elements*>(c), size);
#elif defined(SHUFFLE)
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (warp >= size) return;
  for (int k = 0; k < 4; ++k) c[warp * 128ull + k * 32 + lane] = 0;
  polynomialMultiplication64Shuffle(a + warp * 64ull, b + warp * 64ull, c + warp * 128ull, lane);
#else
  __shared__ unsigned sa[16][64], sb[16][64], sc[16][128];
  const unsigned group = (blockIdx.x * blockDim.x + threadIdx.x) / 64, mine = threadIdx.x / 64, t = threadIdx.x % 64;
  if (group < size) {
    sa[mine][t] = a[group * 64ull + t];
    sb[mine][t] = b[group * 64ull + t];
  }
  sc[mine][t] = sc[mine][t + 64] = 0;
  __syncthreads();
  polynomialMultiplication64Based32Shmem(sa[mine], sb[mine], sc[mine], t);
  __syncthreads();
  if (group < size)
    for (int k = 0; k < 2; ++k) c[group * 128ull + k * 64 + t] = sc[mine][k * 64 + t];
#endif
}
