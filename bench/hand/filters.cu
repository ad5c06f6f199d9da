// One-dimensional filters and windows as an expert writes them: each thread computes C neighbouring outputs, which share
// their inputs in registers. Weights are parameters by value. Blocks of 128 threads, any length up to 2^31.

struct Weights {
  float at[K];
};

extern "C" __global__ void __launch_bounds__(128) filter_1d(
    const float* __restrict__ x, const Weights w, float* __restrict__ y, int n) {
  const int begin = blockIdx.x * (128 * C) + threadIdx.x;
  x += begin;
  y += begin;
  if (n - begin > 127 * C + C) {
    // Neighbouring threads take neighbouring elements, so that each access is one line.
    float out[C] = {};
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int k = 0; k < K; ++k) out[c] += w.at[k] * x[c * 128 + k];
#pragma unroll
    for (int c = 0; c < C; ++c) y[c * 128] = out[c];
  } else {
#pragma unroll 1
    for (int c = 0; c < C && begin + c * 128 < n; ++c) {
      float out = 0;
#pragma unroll 1
      for (int k = 0; k < K; ++k) out += w.at[k] * x[c * 128 + k];
      y[c * 128] = out;
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) average_1d(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  const int begin = blockIdx.x * (128 * C) + threadIdx.x;
  x += begin;
  y += begin;
  if (n - begin > 127 * C + C) {
    float out[C] = {};
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int k = 0; k < K; ++k) out[c] += x[c * 128 + k];
#pragma unroll
    for (int c = 0; c < C; ++c) y[c * 128] = out[c] * (1.0f / K);
  } else {
#pragma unroll 1
    for (int c = 0; c < C && begin + c * 128 < n; ++c) {
      float out = 0;
#pragma unroll 1
      for (int k = 0; k < K; ++k) out += x[c * 128 + k];
      y[c * 128] = out * (1.0f / K);
    }
  }
}
