// A product of matrices, 16 by 8, 8 deep, of floats that are rounded to tf32, by one warp.
// swizzle prove: --launch 1,32 --args f32[16,8],f32[8,8],f32.out[16,8]
__device__ unsigned rounded(float x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
__global__ void tf32(const float* A, const float* B, float* C) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned a[4], b[2];
  float c[4] = {0.f, 0.f, 0.f, 0.f};
  for (int r = 0; r < 4; ++r) a[r] = rounded(A[(g + r % 2 * 8) * 8 + t + r / 2 * 4]);
  for (int r = 0; r < 2; ++r) b[r] = rounded(B[(t + 4 * r) * 8 + g]);
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = c[i];
}
