// Attention of 32 queries over 32 keys, 32 numbers each: one warp a query, one lane a key, then one lane a number.
// swizzle doctor: --launch 1,32x8 --args f32[32,32],f32[32,32],f32[32,32],f32.out[32,32],f32
#define FULL 0xffffffffu

__device__ float over_warp(float v, bool sum) {
  for (int m = 16; m > 0; m >>= 1) {
    const float other = __shfl_xor_sync(FULL, v, m);
    v = sum ? v + other : fmaxf(v, other);
  }
  return v;
}

__global__ void attend(const float* q, const float* k, const float* v, float* o, float scale) {
  __shared__ float keys[32][32];
  __shared__ float values[32][32];
  __shared__ float weights[8][32];
  const int lane = threadIdx.x, warp = threadIdx.y;
  for (int r = warp; r < 32; r += 8) {
    keys[r][lane] = k[32 * r + lane];
    values[r][lane] = v[32 * r + lane];
  }
  __syncthreads();
  for (int query = warp; query < 32; query += 8) {
    float score = 0.0f;
    for (int d = 0; d < 32; ++d) score += q[32 * query + d] * keys[lane][d];
    score *= scale;
    const float weight = __expf(score - over_warp(score, false));
    weights[warp][lane] = weight / over_warp(weight, true);
    __syncwarp();
    float sum = 0.0f;
    for (int j = 0; j < 32; ++j) sum += weights[warp][j] * values[j][lane];
    o[32 * query + lane] = sum;
    __syncwarp();
  }
}
