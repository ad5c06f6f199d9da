// swizzle prove: --launch 2,32 --args f32[2,64],f32.out[2,64],i32=64
__global__ void softmax(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * n;
  float m = -INFINITY, s = 0.f;
  for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, row[i]);
  for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
  for (int i = threadIdx.x; i < n; i += 32) s += expf(row[i] - m);
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffffu, s, o);
  for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = expf(row[i] - m) / s;
}
