// swizzle prove: --launch 2,32 --args f32[50],f32.out[50],i32=50
__global__ void elu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { float v = x[i]; y[i] = v > 0 ? v : expf(v) - 1.f; }
}
