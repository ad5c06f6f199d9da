// A product of 8 by 32, 16 deep, of bytes, the second matrix by columns, by one warp with WMMA.
// swizzle prove: --launch 1,32 --args i8[8,16],i8[32,16],i32.out[8,32]
#include <mma.h>
using namespace nvcuda;

__global__ void wmma_bytes(const signed char* A, const signed char* B, int* C) {
  wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 8, 32, 16, int> c;
  wmma::fill_fragment(c, 0);
  wmma::load_matrix_sync(a, A, 16);
  wmma::load_matrix_sync(b, B, 16);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(C, c, 32, wmma::mem_row_major);
}
