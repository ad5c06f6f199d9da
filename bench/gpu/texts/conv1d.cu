// One-dimensional convolution and moving average as written by hand: each thread computes one output, from global memory
// or from a tile in shared memory. K weights; blocks of X threads.

extern "C" __global__ void __launch_bounds__(X) direct_1d(
    const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * (long long)X + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < K; ++k) sum += w[k] * x[i + k];
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(X) average_1d(
    const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * (long long)X + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < K; ++k) sum += x[i + k];
  y[i] = sum / K;
}

__device__ inline void stage(const float* __restrict__ x, float* tile, long long n) {
  const long long begin = blockIdx.x * (long long)X;
  for (int at = threadIdx.x; at < X + K - 1; at += X)
    if (begin + at < n + K - 1) tile[at] = x[begin + at];
}

extern "C" __global__ void __launch_bounds__(X) shared_1d(
    const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, long long n) {
  __shared__ float tile[X + K - 1], weights[K];
  stage(x, tile, n);
  if (threadIdx.x < K) weights[threadIdx.x] = w[threadIdx.x];
  __syncthreads();
  const long long i = blockIdx.x * (long long)X + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < K; ++k) sum += weights[k] * tile[threadIdx.x + k];
  y[i] = sum;
}

extern "C" __global__ void __launch_bounds__(X) shared_average_1d(
    const float* __restrict__ x, float* __restrict__ y, long long n) {
  __shared__ float tile[X + K - 1];
  stage(x, tile, n);
  __syncthreads();
  const long long i = blockIdx.x * (long long)X + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < K; ++k) sum += tile[threadIdx.x + k];
  y[i] = sum / K;
}
