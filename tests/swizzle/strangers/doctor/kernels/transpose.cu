// The transposition of a matrix, a tile of shared memory at a time: written by rows, read by columns.
// swizzle doctor: --launch 2x2,32x8 --args f32[64,64],f32.out[64,64],i32=64
#include <cuda_runtime.h>

constexpr int TILE = 32;
constexpr int ROWS = 8;

__global__ void transpose(const float* __restrict__ from, float* __restrict__ to, int n) {
  __shared__ float tile[TILE][TILE];
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS)
    tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * n + x];
  __syncthreads();
  const int left = blockIdx.y * TILE + threadIdx.x, top = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS)
    to[(top + j) * n + left] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  float *from, *to;
  cudaMalloc(&from, 64 * 64 * sizeof(float));
  cudaMalloc(&to, 64 * 64 * sizeof(float));
  transpose<<<dim3(2, 2), dim3(TILE, ROWS)>>>(from, to, 64);
  return cudaDeviceSynchronize() != cudaSuccess;
}
