// swizzle prove: --launch 2,64 --args f32[250],f32.out[2],i32=250
__global__ void block_sum(const float* x, float* y, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * 128 + threadIdx.x;
  float v = i < n ? x[i] : 0.f;
  if (i + 64 < n) v += x[i + 64];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int half = 32; half > 0; half >>= 1) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
