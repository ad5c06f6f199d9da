// Carry-less multiplication from integer multiplications, one element to a thread, D / 32 limbs each.
//
// Of each factor every fourth bit is kept, so that in a product of two such parts no more than eight ones are added in a
// column: the sum needs four bits, which is the room there is, and its lowest bit is the exclusive or.

#define LIMBS (D / 32)

__device__ inline unsigned long long multiply_limbs(unsigned a, unsigned b) {
  unsigned long long sum[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      sum[(i + j) % 4] ^= (unsigned long long)(a & 0x11111111u << i) * (b & 0x11111111u << j);
  unsigned long long found = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) found |= sum[k] & 0x1111111111111111ull << k;
  return found;
}

// c = a * b of N limbs each: three products of half the size where N is even (Karatsuba), else limb by limb.
template <int N> struct Product {
  static __device__ inline void of(const unsigned* a, const unsigned* b, unsigned* c) {
    if constexpr (N % 2 == 0) {
      constexpr int H = N / 2;
      unsigned sums[2][H], middle[N];
#pragma unroll
      for (int k = 0; k < H; ++k) {
        sums[0][k] = a[k] ^ a[H + k];
        sums[1][k] = b[k] ^ b[H + k];
      }
      Product<H>::of(a, b, c);
      Product<H>::of(a + H, b + H, c + N);
      Product<H>::of(sums[0], sums[1], middle);
#pragma unroll
      for (int k = 0; k < N; ++k) middle[k] ^= c[k] ^ c[N + k];
#pragma unroll
      for (int k = 0; k < N; ++k) c[H + k] ^= middle[k];
    } else {
#pragma unroll
      for (int k = 0; k < 2 * N; ++k) c[k] = 0;
#pragma unroll
      for (int i = 0; i < N; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j) {
          const unsigned long long both = multiply_limbs(a[i], b[j]);
          c[i + j] ^= unsigned(both);
          c[i + j + 1] ^= unsigned(both >> 32);
        }
    }
  }
};

__device__ inline void product_of_mine(const unsigned* x, const unsigned* y, unsigned* c, long long i, long long n) {
  unsigned a[LIMBS], b[LIMBS];
#pragma unroll
  for (int l = 0; l < LIMBS; ++l) {
    a[l] = x[l * n + i];
    b[l] = y[l * n + i];
  }
  Product<LIMBS>::of(a, b, c);
}

extern "C" __global__ void __launch_bounds__(128) polynomials(
    const unsigned* __restrict__ x, const unsigned* __restrict__ y, unsigned* __restrict__ z, long long groups) {
  const long long n = groups * 32, i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= n) return;
  unsigned c[2 * LIMBS];
  product_of_mine(x, y, c, i, n);
#pragma unroll
  for (int l = 0; l < 2 * LIMBS; ++l) z[l * n + i] = c[l];
}

#ifdef R
// Modulo x^D + x^R + x^S + x^T + 1, from the highest limb down; R, S and T are between 1 and 31.
extern "C" __global__ void __launch_bounds__(128) field(
    const unsigned* __restrict__ x, const unsigned* __restrict__ y, unsigned* __restrict__ z, long long groups) {
  const long long n = groups * 32, i = blockIdx.x * 128ll + threadIdx.x;
  if (i >= n) return;
  unsigned c[2 * LIMBS];
  product_of_mine(x, y, c, i, n);
#pragma unroll
  for (int l = 2 * LIMBS - 1; l >= LIMBS; --l) {
    const unsigned high = c[l], beyond = high >> (32 - R) ^ high >> (32 - S) ^ high >> (32 - T);
    c[l - LIMBS] ^= high ^ high << R ^ high << S ^ high << T;
    if (LIMBS > 1)
      c[l - LIMBS + 1] ^= beyond;
    else  // beyond the only limb: high once more
      c[0] ^= beyond ^ beyond << R ^ beyond << S ^ beyond << T;
  }
#pragma unroll
  for (int l = 0; l < LIMBS; ++l) z[l * n + i] = c[l];
}
#endif
