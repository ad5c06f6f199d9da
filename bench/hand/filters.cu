// One-dimensional filters and windows as an expert writes them: each thread computes C neighbouring outputs, which share
// their inputs in registers: in `filter_1d` and `average_1d` neighbouring threads take neighbouring elements, in `packed_`
// a thread takes four neighbours, by vectors (K to 5). Weights are parameters by value. Blocks of 128 threads, any
// length up to 2^31.

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

extern "C" __global__ void __launch_bounds__(128) packed_filter_1d(
    const float* __restrict__ x, const Weights w, float* __restrict__ y, int n) {
  const int i = (blockIdx.x * 128 + threadIdx.x) * 4;
  if (i + 9 - K <= n && i + 4 <= n) {
    const float4 a = *reinterpret_cast<const float4*>(x + i), b = *reinterpret_cast<const float4*>(x + i + 4);
    const float in[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    float out[4] = {};
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int k = 0; k < K; ++k) out[c] += w.at[k] * in[c + k];
    *reinterpret_cast<float4*>(y + i) = make_float4(out[0], out[1], out[2], out[3]);
  } else {
#pragma unroll 1
    for (int c = i; c < i + 4 && c < n; ++c) {
      float out = 0;
#pragma unroll 1
      for (int k = 0; k < K; ++k) out += w.at[k] * x[c + k];
      y[c] = out;
    }
  }
}

extern "C" __global__ void __launch_bounds__(128) packed_average_1d(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = (blockIdx.x * 128 + threadIdx.x) * 4;
  if (i + 9 - K <= n && i + 4 <= n) {
    const float4 a = *reinterpret_cast<const float4*>(x + i), b = *reinterpret_cast<const float4*>(x + i + 4);
    const float in[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    float out[4] = {};
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int k = 0; k < K; ++k) out[c] += in[c + k];
    *reinterpret_cast<float4*>(y + i) = make_float4(out[0] * (1.0f / K), out[1] * (1.0f / K), out[2] * (1.0f / K), out[3] * (1.0f / K));
  } else {
#pragma unroll 1
    for (int c = i; c < i + 4 && c < n; ++c) {
      float out = 0;
#pragma unroll 1
      for (int k = 0; k < K; ++k) out += x[c + k];
      y[c] = out * (1.0f / K);
    }
  }
}
