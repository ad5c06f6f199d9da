// Kernels as they are found: what they do that others do not is in each name's comment.
#include <cfloat>
#include <math.h>
#include <cuda_pipeline.h>

struct Shape { int rows; double scale; int pitch; };

// swizzle doctor: --kernel early --launch 1,64 --args f32[32,32],f32.out[32,32],i32=32
__global__ void early(const float* x, float* y, int n) {  // half of the threads return before the barrier
  __shared__ float tile[32][32];
  int t = threadIdx.x;
  if (t >= n) return;
  for (int r = 0; r < 32; ++r) tile[r][t] = x[r * n + t];
  __syncthreads();
  for (int r = 0; r < 32; ++r) y[r * n + t] = tile[t][r];
}

// swizzle doctor: --kernel record --launch 1,32 --args f32[32,32],f64.out[32,32],{i32=32,f64,i32=32}
__global__ void record(const float* x, double* y, Shape shape) {  // a structure by value, with gaps
  __shared__ float tile[32][32];
  int t = threadIdx.x;
  for (int r = 0; r < shape.rows; ++r) tile[r][t] = x[r * shape.pitch + t];
  __syncthreads();
  for (int r = 0; r < shape.rows; ++r) y[r * shape.pitch + t] = shape.scale * tile[t][r];
}

// swizzle doctor: --kernel pairs --launch 1,32 --args f64[32,32],f64.out[32]
__global__ void pairs(const double2* x, double* y) {
  __shared__ double2 tile[32][16];
  int t = threadIdx.x;
  for (int i = t; i < 32 * 16; i += 32) tile[i / 16][i % 16] = x[i];
  __syncthreads();
  double s = 0;
  for (int c = 0; c < 16; ++c) { double2 v = tile[t][c]; s += v.x * v.y; }
  y[t] = s;
}

// swizzle doctor: --kernel bins --launch 2,64 --args u32[256],u32.inout[64],i32=256
__global__ void bins(const unsigned* data, unsigned* out, int n) {
  __shared__ unsigned s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[data[i] & 63], 1u);
  __syncthreads();
  atomicAdd(&out[threadIdx.x], s[threadIdx.x]);
}

// swizzle doctor: --kernel sums --launch 2,32 --args f32[2,32,32],f32.inout[32]
__global__ void sums(const float* x, float* y) {  // atomic operations on what no address depends on
  __shared__ float tile[32][32];
  int t = threadIdx.x;
  for (int r = 0; r < 32; ++r) tile[r][t] = x[(blockIdx.x * 32 + r) * 32 + t];
  __syncthreads();
  for (int r = 0; r < 32; ++r) atomicAdd(&y[r], tile[t][r]);
}

// swizzle doctor: --kernel sort --launch 1,64 --args f32[64],f32.out[64]
__global__ void sort(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int k = 2; k <= 64; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      int o = t ^ j;
      if (o > t && (s[t] > s[o]) == ((t & k) == 0)) { float v = s[t]; s[t] = s[o]; s[o] = v; }
      __syncthreads();
    }
  y[t] = s[t];
}

// swizzle doctor: --kernel limits --launch 1,32 --args f32[32,32],f32.out[32]
__global__ void limits(const float* x, float* y) {
  extern __shared__ float s[];
  uint t = threadIdx.x;
  float least = INFINITY, most = -FLT_MAX;
  for (int r = 0; r < 32; ++r) s[r * 33 + t] = x[r * 32 + t];
  __syncthreads();
  for (int r = 0; r < 32; ++r) { least = fminf(least, s[t * 33 + r]); most = fmaxf(most, s[t * 33 + r]); }
  y[t] = most - least;
}

// swizzle doctor: --kernel unsynchronised --launch 1,64 --args f32[64],f32.out[64]
__global__ void unsynchronised(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  y[t] = s[t] + s[(t + 1) % 64];
}

// swizzle doctor: --kernel tail --launch 1,32 --args f32[12,32],f32.out[16,32]
__global__ void tail(const float* x, float* y) {  // copies of nothing: zeros arrive
  __shared__ __align__(16) float tile[16][32];
  int t = threadIdx.x;
  for (int i = t; i < 128; i += 32)
    __pipeline_memcpy_async(&tile[i / 8][i % 8 * 4], &x[i < 96 ? i * 4 : 0], 16, i < 96 ? 0 : 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int c = 0; c < 32; c += 2) y[c / 2 * 32 + t] = tile[t % 16][c + t / 16];
}

// swizzle doctor: --kernel joined --launch 1,32 --args f32[32,32],f32.out[32,32]
__global__ void joined(const float* x, float* y) {  // the compiler joins four loads of the last line to a vector
  extern __shared__ float s[];
  int t = threadIdx.x;
  for (int r = 0; r < 32; ++r) s[r * 32 + t] = x[r * 32 + t];
  __syncthreads();
  for (int r = 0; r < 32; ++r) y[r * 32 + t] = s[t * 32 + r];
}

template <typename T, template <typename> class Op>
__device__ T both(T a, T b) { return Op<T>()(a, b); }
template <typename T> struct Sum { __device__ T operator()(T a, T b) const { return a + b; } };

// swizzle doctor: --kernel parts --launch 1,32,8192 --args f32[32,32],f32.out[32,32]
__global__ void parts(const float* x, float* y) {  // pointers of another type into bytes, and what C++ is hard to read by
  extern __shared__ __align__(16) unsigned char words[];
  float* first = reinterpret_cast<float*>(words);
  float* second = (float*)(words + 4096);
  int t = threadIdx.x;
  for (int r = 0; r < 32; ++r) first[32 * r + t] = x[32 * r + t];
  __syncthreads();
  for (int r = 0; r < 32; ++r) second[32 * r + t] = both<float, Sum>(first[32 * t + r], 1.0f);
  __syncthreads();
  for (int r = 0; r < 32; ++r) y[32 * r + t] = second[32 * r + t];
}
