// Two-dimensional convolution as written by hand: each thread computes one output, from global memory or from a tile in
// shared memory. K x K weights; blocks of X times Y threads.

extern "C" __global__ void __launch_bounds__(X* Y) direct_2d(
    const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, long long width, long long height) {
  const long long c = blockIdx.x * (long long)X + threadIdx.x, r = blockIdx.y * (long long)Y + threadIdx.y;
  if (c >= width || r >= height) return;
  float sum = 0.0f;
#pragma unroll
  for (int ky = 0; ky < K; ++ky)
#pragma unroll
    for (int kx = 0; kx < K; ++kx) sum += w[ky * K + kx] * x[(r + ky) * (width + K - 1) + c + kx];
  y[r * width + c] = sum;
}

extern "C" __global__ void __launch_bounds__(X* Y) shared_2d(
    const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, long long width, long long height) {
  __shared__ float tile[Y + K - 1][X + K - 1], weights[K * K];
  const long long left = blockIdx.x * (long long)X, top = blockIdx.y * (long long)Y;
  for (int at = threadIdx.y * X + threadIdx.x; at < K * K; at += X * Y) weights[at] = w[at];
  for (int r = threadIdx.y; r < Y + K - 1; r += Y)
    for (int c = threadIdx.x; c < X + K - 1; c += X)
      if (top + r < height + K - 1 && left + c < width + K - 1)
        tile[r][c] = x[(top + r) * (width + K - 1) + left + c];
  __syncthreads();
  const long long c = left + threadIdx.x, r = top + threadIdx.y;
  if (c >= width || r >= height) return;
  float sum = 0.0f;
#pragma unroll
  for (int ky = 0; ky < K; ++ky)
#pragma unroll
    for (int kx = 0; kx < K; ++kx) sum += weights[ky * K + kx] * tile[threadIdx.y + ky][threadIdx.x + kx];
  y[r * width + c] = sum;
}
