// swizzle prove: --launch 4,64 --args i32=200,f32,f32[200],f32.inout[200]
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
