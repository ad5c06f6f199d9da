// Blelloch's exclusive scan of 2048 words in one block: up a tree with strides that double, and down again.
// swizzle doctor: --args f32[2048],f32.out[2048]
#define WORDS 2048

extern "C" __global__ void __launch_bounds__(WORDS / 2) exclusive_scan(const float* values, float* sums) {
  __shared__ float tree[WORDS];
  const int t = threadIdx.x;
  tree[t] = values[t];
  tree[t + WORDS / 2] = values[t + WORDS / 2];
  int stride = 1;
  for (int nodes = WORDS / 2; nodes > 0; nodes >>= 1) {
    __syncthreads();
    if (t < nodes) tree[stride * (2 * t + 2) - 1] += tree[stride * (2 * t + 1) - 1];
    stride *= 2;
  }
  if (t == 0) tree[WORDS - 1] = 0.0f;
  for (int nodes = 1; nodes < WORDS; nodes *= 2) {
    stride >>= 1;
    __syncthreads();
    if (t < nodes) {
      const int left = stride * (2 * t + 1) - 1, right = left + stride;
      const float below = tree[left];
      tree[left] = tree[right];
      tree[right] += below;
    }
  }
  __syncthreads();
  sums[t] = tree[t];
  sums[t + WORDS / 2] = tree[t + WORDS / 2];
}
