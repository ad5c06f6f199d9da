// swizzle prove: --launch 2,32 --args f32[256],f32[256],f32.out[256]
__global__ void vector_scale(const float4* x, const float4* s, float4* y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float4 a = x[i], b = s[i];
  y[i] = make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
