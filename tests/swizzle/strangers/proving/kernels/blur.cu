// swizzle prove: --launch 3,32 --args f32[90],f32.out[90],i32=90
__global__ void blur(const float* x, float* y, int n) {
  __shared__ float s[34];
  int i = blockIdx.x * 32 + threadIdx.x;
  s[threadIdx.x + 1] = i < n ? x[i] : 0.f;
  if (threadIdx.x == 0) s[0] = i > 0 ? x[i - 1] : 0.f;
  if (threadIdx.x == 31) s[33] = i + 1 < n ? x[i + 1] : 0.f;
  __syncthreads();
  if (i < n) y[i] = 0.25f * s[threadIdx.x] + 0.5f * s[threadIdx.x + 1] + 0.25f * s[threadIdx.x + 2];
}
