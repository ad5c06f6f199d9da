// What a user writes by hand for arrays of structures: AOS_WORDS words in each, read by vectors of V words, AOS_THREADS
// threads to a block.

struct alignas(4 * V) Vector {
  unsigned word[V];
};

extern "C" __global__ void __launch_bounds__(AOS_THREADS) direct_store(const unsigned* x, unsigned* y, long long n) {
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  if (i >= n) return;
  Vector mine[AOS_WORDS / V];
#pragma unroll
  for (int c = 0; c < AOS_WORDS / V; ++c) mine[c] = reinterpret_cast<const Vector*>(x + i * AOS_WORDS)[c];
#pragma unroll
  for (int r = 0; r < AOS_WORDS; ++r) y[r * n + i] = mine[r / V].word[r % V];
}

extern "C" __global__ void __launch_bounds__(AOS_THREADS) direct_sum(const unsigned* x, unsigned* y, long long n) {
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  if (i >= n) return;
  unsigned sum = 0;
#pragma unroll
  for (int c = 0; c < AOS_WORDS / V; ++c) {
    const Vector mine = reinterpret_cast<const Vector*>(x + i * AOS_WORDS)[c];
#pragma unroll
    for (int v = 0; v < V; ++v) sum += mine.word[v];
  }
  y[i] = sum;
}

// Through shared memory; with PAD one unused word after every 32, so that structures of any size meet no bank twice.
__device__ inline int place(int i) { return PAD ? i + i / 32 : i; }

__device__ inline void stage(const unsigned* x, unsigned* staged, long long n) {
  const long long begin = blockIdx.x * (long long)AOS_THREADS;
  const int words = int((n - begin < AOS_THREADS ? n - begin : AOS_THREADS) * AOS_WORDS);
#pragma unroll
  for (int r = 0; r < AOS_WORDS / V; ++r) {
    const int at = (r * AOS_THREADS + int(threadIdx.x)) * V;
    if (at < words) {
      const Vector part = *reinterpret_cast<const Vector*>(x + begin * AOS_WORDS + at);
#pragma unroll
      for (int v = 0; v < V; ++v) staged[place(at + v)] = part.word[v];
    }
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(AOS_THREADS) shared_store(const unsigned* x, unsigned* y, long long n) {
  __shared__ unsigned staged[AOS_THREADS * AOS_WORDS + AOS_THREADS * AOS_WORDS / 32 + 1];
  stage(x, staged, n);
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  if (i >= n) return;
#pragma unroll
  for (int r = 0; r < AOS_WORDS; ++r) y[r * n + i] = staged[place(threadIdx.x * AOS_WORDS + r)];
}

extern "C" __global__ void __launch_bounds__(AOS_THREADS) shared_sum(const unsigned* x, unsigned* y, long long n) {
  __shared__ unsigned staged[AOS_THREADS * AOS_WORDS + AOS_THREADS * AOS_WORDS / 32 + 1];
  stage(x, staged, n);
  const long long i = blockIdx.x * (long long)AOS_THREADS + threadIdx.x;
  if (i >= n) return;
  unsigned sum = 0;
#pragma unroll
  for (int r = 0; r < AOS_WORDS; ++r) sum += staged[place(threadIdx.x * AOS_WORDS + r)];
  y[i] = sum;
}
