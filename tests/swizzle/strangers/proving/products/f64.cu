// A product of matrices, 8 by 8, 4 deep, of doubles, by one warp.
// swizzle prove: --launch 1,32 --args f64[8,4],f64[4,8],f64.out[8,8]
__global__ void f64(const double* A, const double* B, double* C) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  double a[1] = {A[g * 4 + t]}, b[1] = {B[t * 8 + g]}, c[2] = {0, 0};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
               "{%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a[0]), "d"(b[0]));
  C[g * 8 + 2 * t] = c[0];
  C[g * 8 + 2 * t + 1] = c[1];
}
