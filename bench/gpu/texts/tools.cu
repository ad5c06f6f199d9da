// What the benchmarks need besides kernels: data made on the device, comparison, and a sweep that empties the cache.

__device__ inline unsigned scrambled(unsigned long long i, unsigned seed) {
  unsigned h = unsigned(i) * 2654435761u ^ unsigned(i >> 32) * 2246822519u ^ seed;
  h ^= h >> 15;
  h *= 2246822519u;
  h ^= h >> 13;
  h *= 3266489917u;
  return h ^ h >> 16;
}

extern "C" __global__ void fill_words(unsigned* x, unsigned seed, long long n) {
  for (long long i = blockIdx.x * 1024ll + threadIdx.x; i < n && i < (blockIdx.x + 1) * 1024ll; i += 256)
    x[i] = scrambled(i, seed);
}

// Whole numbers from -4 to 4: sums and products of many are exact, in any order.
extern "C" __global__ void fill_floats(float* x, unsigned seed, long long n) {
  for (long long i = blockIdx.x * 1024ll + threadIdx.x; i < n && i < (blockIdx.x + 1) * 1024ll; i += 256)
    x[i] = float(int(scrambled(i, seed) % 9u) - 4);
}

// Every warp looks at 1024 elements and says how many differ.
extern "C" __global__ void differ_words(const unsigned* x, const unsigned* y, unsigned* counts, float, long long n) {
  const long long warp = blockIdx.x * 8ll + threadIdx.x / 32;
  unsigned found = 0;
  for (int k = 0; k < 32; ++k) {
    const long long i = warp * 1024 + k * 32 + threadIdx.x % 32;
    found += __popc(__ballot_sync(0xffffffffu, i < n && x[i] != y[i]));
  }
  if (threadIdx.x % 32 == 0) counts[warp] = found;
}

extern "C" __global__ void differ_floats(const float* x, const float* y, unsigned* counts, float tolerance, long long n) {
  const long long warp = blockIdx.x * 8ll + threadIdx.x / 32;
  unsigned found = 0;
  for (int k = 0; k < 32; ++k) {
    const long long i = warp * 1024 + k * 32 + threadIdx.x % 32;
    // Written so that a number that is none counts as different.
    const bool same = i >= n || (x[i] - y[i] <= tolerance && y[i] - x[i] <= tolerance);
    found += __popc(__ballot_sync(0xffffffffu, !same));
  }
  if (threadIdx.x % 32 == 0) counts[warp] = found;
}

// Reads a buffer larger than the cache. Reading leaves nothing to be written back while the next kernel is timed.
extern "C" __global__ void sweep(const unsigned* x, unsigned* sink, long long n) {
  unsigned sum = 0;
  for (long long i = blockIdx.x * 1024ll + threadIdx.x; i < n && i < (blockIdx.x + 1) * 1024ll; i += 256) sum += x[i];
  if (sum == 0x9e3779b9u) sink[0] = sum;
}

// Bit-sliced words (word p holds coefficient p of 32 elements) to limbs (limb l of every element, then limb l + 1).
// n is the number of groups of 32 elements; WORDS the words of a group.
#ifdef WORDS
extern "C" __global__ void to_limbs(const unsigned* x, unsigned* y, long long n) {
  const long long group = blockIdx.x;
  for (int limb = 0; limb < WORDS / 32; ++limb) {
    unsigned found = 0;
    for (int bit = 0; bit < 32; ++bit) found |= (x[group * WORDS + limb * 32 + bit] >> threadIdx.x & 1u) << bit;
    y[(limb * n + group) * 32 + threadIdx.x] = found;
  }
}

extern "C" __global__ void from_limbs(const unsigned* x, unsigned* y, long long n) {
  const long long group = blockIdx.x;
  for (int limb = 0; limb < WORDS / 32; ++limb) {
    unsigned found = 0;
    for (int j = 0; j < 32; ++j) found |= (x[(limb * n + group) * 32 + j] >> threadIdx.x & 1u) << j;
    y[group * WORDS + limb * 32 + threadIdx.x] = found;
  }
}
#endif
