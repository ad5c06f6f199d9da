// The sums of 32 rows of eight float4: a warp loads them side by side, then each lane takes a row of its own.
// swizzle doctor: --launch 1,32 --args f32[32,32],f32.out[32]
__global__ void row_sums(const float4* __restrict__ values, float* __restrict__ sums) {
  __shared__ float4 tile[32][8];
  const int lane = threadIdx.x;
  for (int k = lane; k < 32 * 8; k += 32) tile[k / 8][k % 8] = values[k];
  __syncwarp();
  float sum = 0.0f;
  for (int k = 0; k < 8; ++k) {
    const float4 v = tile[lane][k];
    sum += v.x + v.y + v.z + v.w;
  }
  sums[lane] = sum;
}
