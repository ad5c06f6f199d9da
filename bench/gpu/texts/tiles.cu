// A window's average, a transposition and a matrix times a vector as written by hand: a thread computes one output, or a
// warp one row. Rows of a matrix are 32 and 64 long; blocks of X times Y threads.

extern "C" __global__ void __launch_bounds__(X* Y) direct_average(
    const float* __restrict__ x, float* __restrict__ y, long long width, long long height) {
  const long long c = blockIdx.x * (long long)X + threadIdx.x, r = blockIdx.y * (long long)Y + threadIdx.y;
  if (c >= width || r >= height) return;
  float sum = 0.0f;
#pragma unroll
  for (int ky = 0; ky < 3; ++ky)
#pragma unroll
    for (int kx = 0; kx < 3; ++kx) sum += x[(r + ky) * (width + 2) + c + kx];
  y[r * width + c] = sum * (1.0f / 9.0f);
}

// A tile of 32 by 32 elements by 32 times Y threads; its rows in shared memory are padded.
extern "C" __global__ void __launch_bounds__(32 * Y) shared_transpose(
    const float* __restrict__ x, float* __restrict__ y, long long n) {
  __shared__ float tile[32][33];
  const long long first = blockIdx.x * 32ll, c = first + threadIdx.x;
#pragma unroll
  for (int r = threadIdx.y; r < 32; r += Y)
    if (c < n) tile[r][threadIdx.x] = x[r * n + c];
  __syncthreads();
#pragma unroll
  for (int r = threadIdx.y; r < 32; r += Y)
    if (first + r < n) y[(first + r) * 32 + threadIdx.x] = tile[threadIdx.x][r];
}

extern "C" __global__ void __launch_bounds__(X) direct_transpose(
    const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long i = blockIdx.x * (long long)X + threadIdx.x;
  if (i < 32 * n) y[i] = x[i % 32 * n + i / 32];
}

// A warp sums a row of 64 elements.
extern "C" __global__ void __launch_bounds__(X) direct_gemv(
    const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, long long n) {
  const long long row = (blockIdx.x * (long long)X + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= n) return;
  const float2 mine = reinterpret_cast<const float2*>(a + row * 64)[lane];
  const float2 others = reinterpret_cast<const float2*>(x)[lane];
  float sum = mine.x * others.x + mine.y * others.y;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (lane == 0) y[row] = sum;
}
