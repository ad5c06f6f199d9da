// Transposition of tiles, products of a matrix and a vector, softmax, and multiplication of polynomials over GF(2) as an
// expert writes them. Sizes up to 2^31.

// A tile of 32 x 32 by 32 x T threads; rows of the tile in shared memory are padded by one word.
extern "C" __global__ void __launch_bounds__(32 * T) transpose_tile(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[32][33];
  const int first = blockIdx.x * 32, c = first + threadIdx.x;
  x += threadIdx.y * n + c;
  if (c < n) {
#pragma unroll
    for (int r = 0; r < 32; r += T) tile[threadIdx.y + r][threadIdx.x] = x[r * n];
  }
  __syncthreads();
  y += (first + threadIdx.y) * 32 + threadIdx.x;
#pragma unroll
  for (int r = 0; r < 32; r += T)
    if (first + threadIdx.y + r < n) y[r * 32] = tile[threadIdx.x][threadIdx.y + r];
}

// Rows of 64 elements, R of them a warp, two neighbours a lane.
extern "C" __global__ void __launch_bounds__(32) row_product(
    const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int n) {
  const int first = blockIdx.x * R;
  const float2 with = reinterpret_cast<const float2*>(x)[threadIdx.x];
  const auto take = [&](int r) {
    const float2 mine = reinterpret_cast<const float2*>(a)[r * 32 + threadIdx.x];
    float total = mine.x * with.x + mine.y * with.y;
#pragma unroll
    for (int other = 16; other > 0; other /= 2) total += __shfl_xor_sync(0xffffffffu, total, other);
    if (threadIdx.x == 0) y[r] = total;
  };
  if (first + R <= n) {
#pragma unroll
    for (int r = 0; r < R; ++r) take(first + r);
  } else {
#pragma unroll 1
    for (int r = first; r < n; ++r) take(r);
  }
}

// A row of 32 elements a warp, written reversed.
extern "C" __global__ void __launch_bounds__(32) softmax_row(const float* __restrict__ x, float* __restrict__ y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const float mine = x[i];
  float top = mine;
#pragma unroll
  for (int other = 16; other > 0; other /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, other));
  const float power = expf(mine - top);
  float total = power;
#pragma unroll
  for (int other = 16; other > 0; other /= 2) total += __shfl_xor_sync(0xffffffffu, total, other);
  y[i ^ 31] = power / total;
}

// Words of 32 coefficients, bit-sliced, a warp for each product.
extern "C" __global__ void __launch_bounds__(32) multiply(
    const unsigned* __restrict__ a, const unsigned* __restrict__ b, unsigned* __restrict__ c) {
  const int lane = threadIdx.x, i = blockIdx.x * 32 + lane;
  const unsigned ra = a[i], rb = b[i];
  unsigned low = 0, high = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) {
    const unsigned part = __shfl_sync(0xffffffffu, ra, k) & __shfl_sync(0xffffffffu, rb, lane - k);
    if (lane >= k) low ^= part;
    else high ^= part;
  }
  c[i * 2 - lane] = low;
  c[i * 2 - lane + 32] = high;
}
