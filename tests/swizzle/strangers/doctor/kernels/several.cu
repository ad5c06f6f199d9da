#include <cuda_fp16.h>
#include <cstdint>
#include <vector>
// Kernels of many kinds, each with one array that has conflicts; some are left alone.
namespace own {
constexpr int N = 64;
constexpr int halved(int n) { return n / 2; }
struct __align__(8) Pair { float a; int b; };
typedef float Row[32];
__constant__ float weights[4] = {1, 2, 3, 4};
__shared__ float global_tile[32][32];

// swizzle doctor: --kernel halves --launch 1,32 --args f16[32,64],f16.out[64,32]
__global__ void halves(const __half* x, __half* y) {
  __shared__ __half tile[64][32];
  int t = threadIdx.x;
  for (int r = 0; r < 64; ++r) tile[r][t] = x[t * 64 + r];
  __syncthreads();
  for (int c = 0; c < 32; ++c) { y[t * 32 + c] = tile[t][c]; y[(t + 32) * 32 + c] = tile[t + 32][c]; }
}
// swizzle doctor: --kernel doubles --launch 2,32 --args f64[32,64],f64.inout[64,32],i32=3
__global__ void doubles(const double* x, double* y, int n) {
  __shared__ double tile[32][32];
  int t = threadIdx.x, b = blockIdx.x;
  for (int r = 0; r < 32; ++r) tile[r][t] = x[r * 64 + b * 32 + t];
  __syncthreads();
  for (int r = 0; r < 32; ++r) y[(b * 32 + r) * 32 + t] += n * tile[t][r];
}
// swizzle doctor: --kernel buffers --launch 1,32x4 --args f32[128,32],f32.out[32,128]
__global__ void buffers(const float* __restrict__ x, float* y) {
  __shared__ float tile[2][32][32];
  int t = threadIdx.x, w = threadIdx.y, at = 0;
  for (int r = w; r < 32; r += 4) tile[0][r][t] = x[r * 32 + t];
  for (int k = 0; k < 4; ++k, at ^= 1) {
    __syncthreads();
    if (k < 3) for (int r = w; r < 32; r += 4) tile[at ^ 1][r][t] = x[(32 * (k + 1) + r) * 32 + t];
    for (int r = w; r < 32; r += 4) y[r * 128 + 32 * k + t] = tile[at][t][r];
  }
}
// swizzle doctor: --kernel outside --launch 1,32x4 --args f32[32,32],f32.out[32,32]
__global__ void outside(const float* __restrict__ x, float* y) {
  int t = threadIdx.x, w = threadIdx.y;
  for (int r = w; r < 32; r += 4) global_tile[r][t] = x[r * 32 + t];
  __syncthreads();
  for (int r = w; r < 32; r += 4) y[r * 32 + t] = global_tile[t][r] * weights[r % 4];
}
// swizzle doctor: --kernel pairs --launch 1,32 --args f32[1024],f32.out[1024]
__global__ void pairs(const float* __restrict__ x, float* y) {
  __shared__ Pair tile[32][32];
  int t = threadIdx.x;
  for (int r = 0; r < 32; r += 1) { tile[r][t].a = x[r * 32 + t]; tile[r][t].b = r; }
  __syncthreads();
  for (int r = 0; r < 32; r += 1) y[r * 32 + t] = tile[t][r].a + tile[t][r].b;
}
// swizzle doctor: --kernel rowtype --launch 1,32 --args f32[1024],f32.out[1024]
__global__ void rowtype(const float* __restrict__ x, float* y) {
  __shared__ Row tile[32];
  int t = threadIdx.x;
  for (int r = 0; r < 32; r += 1) tile[r][t] = x[r * 32 + t];
  __syncthreads();
  for (int r = 0; r < 32; r += 1) y[r * 32 + t] = tile[t][r];
}
// swizzle doctor: --kernel bytes --launch 1,32 --args u8[1024],u8.out[1024]
__global__ void bytes(const uint8_t* __restrict__ x, uint8_t* y) {
  volatile __shared__ uint8_t tile[32][128];
  int t = threadIdx.x;
  for (int r = 0; r < 32; r += 1) tile[r][t] = x[r * 32 + t];
  __syncthreads();
  for (int r = 0; r < 32; r += 1) y[r * 32 + t] = tile[t][r];
}
// swizzle doctor: --kernel 'typed<float, 24>' --launch 1,24 --args f32[24,24],f32.out[24,24]
template <typename T, int M = 8>
__global__ __launch_bounds__(M) void typed(const T* x, T* y) {
  __shared__ T tile[M][M];
  int t = threadIdx.x;
#pragma unroll 4
  for (int r = 0; r < M; r += 1) tile[r][t] = __ldg(&x[r * M + t]);
  __syncthreads();
  for (int r = 0; r < M; r += 1) y[r * M + t] = tile[t][r];
}
// swizzle doctor: --kernel reduce --launch 1,256 --args f32[512],f32.out[1]
__global__ void reduce(const float* x, float* y) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = x[t] + x[t + 256];
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    int i = 2 * step * t;
    if (i < 256) s[i] += s[i + step];
  }
  if (t == 0) y[0] = s[0];
}
// swizzle doctor: --kernel histogram --launch 1,32 --args i32[32],i32.out[32]
__global__ void histogram(const int* x, int* y) {
  __shared__ int bins[32];
  int t = threadIdx.x;
  bins[t] = 0;
  __syncwarp();
  bins[x[t] & 31] = 1;
  __syncwarp();
  y[t] = bins[t];
}
// swizzle doctor: --kernel strided --launch 1,64 --args f32[64,9],f32.out[64,9]
__global__ void strided(const float* x, float* y) {
  __shared__ float s[halved(128) * 12];
  int t = threadIdx.x;
  for (int k = 0; k < 9; ++k) s[t * 12 + k] = x[t * 9 + k];
  __syncthreads();
  for (int k = 0; k < 9; ++k) y[k * 64 + t] = s[t * 12 + 8 - k];
}
}  // namespace own
int main() { std::vector<int> v; own::reduce<<<1, 256>>>(nullptr, nullptr); }
