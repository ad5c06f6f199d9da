// Arrays of structures of S words as an expert writes them. `vectors` reads a structure by 128-bit (or narrower) loads,
// each thread its own, U of them; `shuffled` is Catanzaro's decomposition (trove): coalesced loads, and a transposition in registers
// by rotations and shuffles, for S without a divisor in common with the warp. Blocks of 128 threads, whole warps or a
// tail, up to 2^31 words.

struct alignas(4 * V) Vector {
  unsigned word[V];
};

template <typename Use>
__device__ __forceinline__ void each_structure(const unsigned* x, int n, Use use) {
  const int first = blockIdx.x * (128 * U) + threadIdx.x;
  x += first * S;
  const auto take = [&](int u) {
    unsigned mine[S];
#pragma unroll
    for (int c = 0; c < S / V; ++c) {
      const Vector vector = reinterpret_cast<const Vector*>(x)[u * (128 * S / V) + c];
#pragma unroll
      for (int v = 0; v < V; ++v) mine[c * V + v] = vector.word[v];
    }
    use(first + u * 128, mine);
  };
  if (first + (U - 1) * 128 < n) {
#pragma unroll
    for (int u = 0; u < U; ++u) take(u);
  } else {
#pragma unroll 1
    for (int u = 0; u < U && first + u * 128 < n; ++u) take(u);
  }
}

extern "C" __global__ void __launch_bounds__(128) vectors_store(
    const unsigned* __restrict__ x, unsigned* __restrict__ y, int n) {
  each_structure(x, n, [&](int i, const unsigned (&mine)[S]) {
#pragma unroll
    for (int r = 0; r < S; ++r) y[r * n + i] = mine[r];
  });
}

extern "C" __global__ void __launch_bounds__(128) vectors_sum(
    const unsigned* __restrict__ x, unsigned* __restrict__ y, int n) {
  each_structure(x, n, [&](int i, const unsigned (&mine)[S]) {
    unsigned sum = 0;
#pragma unroll
    for (int r = 0; r < S; ++r) sum += mine[r];
    y[i] = sum;
  });
}

__device__ __forceinline__ void rotate(unsigned (&words)[S], int amount) {
#pragma unroll
  for (int bit = 1; bit < S; bit *= 2) {
    unsigned turned[S];
#pragma unroll
    for (int r = 0; r < S; ++r) turned[r] = amount & bit ? words[(r + bit) % S] : words[r];
#pragma unroll
    for (int r = 0; r < S; ++r) words[r] = turned[r];
  }
}

__host__ __device__ constexpr int inverse(int a, int m) {
  int b = 1;
  while (a * b % m != 1 % m) ++b;
  return b;
}

// Lane t holds the words r * 32 + t of its warp's structures, and gets those of its own structure, in their order: word
// r of it is in lane (t * S + r) % 32, whose register ((r - lane) * m) % S has it, where m * 32 % S is 1.
template <int N>
__device__ __forceinline__ void own_words(const unsigned* x, unsigned (&mine)[N], int lane) {
  constexpr int m = inverse(32, N);
  unsigned words[N];
#pragma unroll
  for (int r = 0; r < N; ++r) words[r] = x[r * 32];
  rotate(words, unsigned(lane) * (N - m) % N);
#pragma unroll
  for (int r = 0; r < N; ++r) mine[r] = __shfl_sync(0xffffffffu, words[r * m % N], lane * N + r);
}

extern "C" __global__ void __launch_bounds__(128) shuffled_store(
    const unsigned* __restrict__ x, unsigned* __restrict__ y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32;
  if (i - lane + 32 <= n) {
    unsigned mine[S];
    own_words(x + (i - lane) * S + lane, mine, lane);
    y += i;
#pragma unroll
    for (int r = 0; r < S; ++r) y[r * n] = mine[r];
  } else if (i < n) {
#pragma unroll 1
    for (int r = 0; r < S; ++r) y[r * n + i] = x[i * S + r];
  }
}

extern "C" __global__ void __launch_bounds__(128) shuffled_sum(
    const unsigned* __restrict__ x, unsigned* __restrict__ y, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32;
  if (i - lane + 32 <= n) {
    unsigned mine[S], sum = 0;
    own_words(x + (i - lane) * S + lane, mine, lane);
#pragma unroll
    for (int r = 0; r < S; ++r) sum += mine[r];
    y[i] = sum;
  } else if (i < n) {
    unsigned sum = 0;
#pragma unroll 1
    for (int r = 0; r < S; ++r) sum += x[i * S + r];
    y[i] = sum;
  }
}
