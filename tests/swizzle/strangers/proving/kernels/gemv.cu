// swizzle prove: --launch 3,32 --args f32[3,80],f32[80],f32.out[3],i32=80
__global__ void gemv(const float* A, const float* x, float* y, int n) {
  float sum = 0.f;
  for (int k = threadIdx.x; k < n; k += 32) sum += A[blockIdx.x * n + k] * x[k];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
