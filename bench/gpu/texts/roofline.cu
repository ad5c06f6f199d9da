// The ceilings of the machine: a plain copy, and how many operations of one kind it does.
// LOOPS is how often each thread goes round; one round is 64 operations in eight independent chains.

extern "C" __global__ void __launch_bounds__(256) copy_words(const float4* x, float4* y, long long n) {
  const long long first = blockIdx.x * 1024ll + threadIdx.x;
  float4 words[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < n) words[k] = x[first + k * 256];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < n) y[first + k * 256] = words[k];
}

#define CHAINS(TYPE, START, STEP)                                                     \
  TYPE x[8];                                                                          \
  _Pragma("unroll") for (int j = 0; j < 8; ++j) x[j] = START;                         \
  for (int loop = 0; loop < LOOPS; ++loop) {                                          \
    _Pragma("unroll") for (int k = 0; k < 8; ++k) {                                   \
      _Pragma("unroll") for (int j = 0; j < 8; ++j) { STEP; }                         \
    }                                                                                 \
  }                                                                                   \
  TYPE sum = x[0];                                                                    \
  _Pragma("unroll") for (int j = 1; j < 8; ++j) sum += x[j];                          \
  y[blockIdx.x * 256 + threadIdx.x] = sum;

extern "C" __global__ void __launch_bounds__(256) rate_fma(float* y, float a, float b) {
  CHAINS(float, float(int(threadIdx.x) + j), x[j] = x[j] * a + b)
}

// One and and one exclusive or are one LOP3. Each step takes other values than the one before, so that none can be left
// out.
extern "C" __global__ void __launch_bounds__(256) rate_logic(unsigned* y, unsigned a, unsigned b) {
  CHAINS(unsigned, threadIdx.x * a + j, x[j] ^= x[(j + 1) % 8] & x[(j + 3) % 8])
  (void)b;
}

extern "C" __global__ void __launch_bounds__(256) rate_multiply(unsigned* y, unsigned a, unsigned b) {
  CHAINS(unsigned, threadIdx.x + j, x[j] = x[j] * a + b)
}

extern "C" __global__ void __launch_bounds__(256) rate_shuffle(unsigned* y, unsigned a, unsigned b) {
  const int source = int(threadIdx.x + a) % 32;
  CHAINS(unsigned, threadIdx.x * b + j, x[j] = __shfl_sync(0xffffffffu, x[j], source))
}
