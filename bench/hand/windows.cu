// Windows of K x K in two dimensions as an expert writes them: each thread computes R outputs below each other, and each
// input is loaded once for all of them. Weights are parameters by value. Blocks of 32 x 4 threads, any size up to 2^31.

struct Weights {
  float at[K][K];
};

extern "C" __global__ void __launch_bounds__(128) filter_2d(
    const float* __restrict__ x, const Weights w, float* __restrict__ y, int width, int height) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = (blockIdx.y * 4 + threadIdx.y) * R;
  if (c >= width) return;
  const int pitch = width + K - 1;
  x += r * pitch + c;
  y += r * width + c;
  float out[R] = {};
  if (r + R <= height) {
#pragma unroll
    for (int i = 0; i < R + K - 1; ++i)
#pragma unroll
      for (int kx = 0; kx < K; ++kx) {
        const float v = x[i * pitch + kx];
#pragma unroll
        for (int j = 0; j < R; ++j)
          if (i >= j && i < j + K) out[j] += w.at[i - j][kx] * v;
      }
#pragma unroll
    for (int j = 0; j < R; ++j) y[j * width] = out[j];
  } else {
#pragma unroll 1
    for (int j = 0; j < R && r + j < height; ++j) {
      float sum = 0;
#pragma unroll 1
      for (int ky = 0; ky < K; ++ky)
#pragma unroll 1
        for (int kx = 0; kx < K; ++kx) sum += w.at[ky][kx] * x[(j + ky) * pitch + kx];
      y[j * width] = sum;
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) average_2d(
    const float* __restrict__ x, float* __restrict__ y, int width, int height) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = (blockIdx.y * 4 + threadIdx.y) * R;
  if (c >= width) return;
  const int pitch = width + K - 1;
  x += r * pitch + c;
  y += r * width + c;
  if (r + R <= height) {
    float out[R] = {};
#pragma unroll
    for (int i = 0; i < R + K - 1; ++i) {
      float row = 0;
#pragma unroll
      for (int kx = 0; kx < K; ++kx) row += x[i * pitch + kx];
#pragma unroll
      for (int j = 0; j < R; ++j)
        if (i >= j && i < j + K) out[j] += row;
    }
#pragma unroll
    for (int j = 0; j < R; ++j) y[j * width] = out[j] * (1.0f / (K * K));
  } else {
#pragma unroll 1
    for (int j = 0; j < R && r + j < height; ++j) {
      float sum = 0;
#pragma unroll 1
      for (int ky = 0; ky < K; ++ky)
#pragma unroll 1
        for (int kx = 0; kx < K; ++kx) sum += x[(j + ky) * pitch + kx];
      y[j * width] = sum * (1.0f / (K * K));
    }
  }
}
