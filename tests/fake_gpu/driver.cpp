// A driver without a device: memory is the host's, a launch calls whoever asked for it, time is counted in launches. It is
// compiled against CUDA's own cuda.h, which checks every signature. As libcuda.so.1 it is what bench/gpu/driver.py, and
// what numba-cuda and cuda.core, take for an NVIDIA driver, as far as tests go: a function that is not here says so.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {
using OnLaunch = int (*)(const char* entry, const unsigned* grid, const unsigned* block, void** arguments);
OnLaunch on_launch = nullptr;
std::map<CUdeviceptr, size_t> sizes;
unsigned launches = 0, events = 0;
CUcontext current = nullptr;
CUstream last_stream = nullptr;
unsigned most_shared = 0;  // bytes, which only a kernel that asks for more than 48 KiB may have
struct Module {
  std::string image;
};
struct Function {
  std::string entry;
};
struct Event {
  unsigned at;
};
}  // namespace

extern "C" {

void fake_on_launch(OnLaunch callback) { on_launch = callback; }
size_t fake_size(CUdeviceptr address) {
  const auto found = sizes.find(address);
  return found == sizes.end() ? 0 : found->second;
}
void fake_forget() { sizes.clear(); }
size_t fake_allocations() { return sizes.size(); }
CUstream fake_last_stream() { return last_stream; }

CUresult CUDAAPI cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUresult CUDAAPI cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  *device = 0;
  return ordinal ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice) {
  strncpy(name, "Fake GPU", length);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1000000; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *value = 2000000; break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *value = 384; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 4096; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 49152; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(0x100);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  current = context;
  return context == reinterpret_cast<CUcontext>(0x100) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult CUDAAPI cuCtxSynchronize() { return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemGetInfo(size_t* free, size_t* total) { return *free = *total = 1 << 30, CUDA_SUCCESS; }
CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  if (bytes > 1 << 28) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = CUdeviceptr(aligned_alloc(256, (bytes + 255) / 256 * 256));
  sizes[*address] = bytes;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  if (!sizes.erase(address)) return CUDA_ERROR_INVALID_VALUE;
  free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr target, const void* source, size_t bytes) {
  memcpy(reinterpret_cast<void*>(target), source, bytes);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyDtoH(void* target, CUdeviceptr source, size_t bytes) {
  memcpy(target, reinterpret_cast<void*>(source), bytes);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  ++launches;
  if (stream) return CUDA_ERROR_INVALID_HANDLE;
  memcpy(reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), bytes);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr target, unsigned char byte, size_t count, CUstream stream) {
  if (stream) return CUDA_ERROR_INVALID_HANDLE;
  memset(reinterpret_cast<void*>(target), byte, count);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleLoadData(CUmodule* module, const void* image) {
  if (memcmp(image, "\x7f" "ELF", 4)) return CUDA_ERROR_INVALID_IMAGE;
  *module = reinterpret_cast<CUmodule>(new Module);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  *function = reinterpret_cast<CUfunction>(new Function{name});
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = 48; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t) {
  return *blocks = 2048 / threads, CUDA_SUCCESS;
}
CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared_bytes, CUstream stream, void** arguments, void** extra) {
  ++launches;
  last_stream = stream;
  if (shared_bytes > most_shared || extra || !gx || !gy || !gz || bx * by * bz > 1024) return CUDA_ERROR_INVALID_VALUE;
  const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  const auto& entry = reinterpret_cast<Function*>(function)->entry;
  return CUresult(on_launch(entry.c_str(), grid, block, arguments));
}
CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned flags) {
  ++events;
  *event = reinterpret_cast<CUevent>(new Event{0});
  return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  reinterpret_cast<Event*>(event)->at = launches;
  return stream ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
CUresult CUDAAPI cuEventElapsedTime(float* ms, CUevent first, CUevent second) {
  *ms = float(reinterpret_cast<Event*>(second)->at - reinterpret_cast<Event*>(first)->at);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case CUDA_ERROR_ILLEGAL_ADDRESS: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    default: *name = "another error"; break;
  }
  return CUDA_SUCCESS;
}


// ---- besides, what numba-cuda and cuda.core ask for

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) { return *context = current, CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) { return current = context, CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxPopCurrent(CUcontext* context) { return *context = current, current = nullptr, CUDA_SUCCESS; }
CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice) { return memset(uuid, 1, sizeof *uuid), CUDA_SUCCESS; }
CUresult CUDAAPI cuGetErrorString(CUresult, const char** text) { return *text = "an error", CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(new int), CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr target, const void* source, size_t bytes, CUstream) {
  return cuMemcpyHtoD(target, source, bytes);
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void* target, CUdeviceptr source, size_t bytes, CUstream) {
  return cuMemcpyDtoH(target, source, bytes);
}
CUresult CUDAAPI cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
    CUlibraryOption*, void**, unsigned) {
  return cuModuleLoadData(reinterpret_cast<CUmodule*>(library), code);
}
CUresult CUDAAPI cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }
CUresult CUDAAPI cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char* name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel), nullptr, name);
}
CUresult CUDAAPI cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
}
CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel, CUdevice) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value > 100 << 10)
    return CUDA_ERROR_INVALID_VALUE;
  return most_shared = unsigned(value), CUDA_SUCCESS;
}
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** arguments, void** extra) {
  return cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
      c->sharedMemBytes, c->hStream, arguments, extra);
}
CUresult CUDAAPI cuGetProcAddress(
    const char* symbol, void** address, int, cuuint64_t, CUdriverProcAddressQueryResult* found) {
  static const auto here = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  *address = nullptr;
  for (const char* version : {"_v4", "_v3", "_v2", ""})
    if (!*address) *address = dlsym(here, (std::string(symbol) + version).c_str());
  if (found) *found = *address ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"

// What bench/gpu/driver.py has as numbers.
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16 && CU_DEVICE_ATTRIBUTE_CLOCK_RATE == 13 &&
              CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE == 36 && CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH == 37 &&
              CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE == 38 && CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75 &&
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
static_assert(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR == 39 &&
              CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK == 1 && CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK == 8);
static_assert(CUDA_ERROR_INVALID_VALUE == 1 && CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_INVALID_IMAGE == 200 &&
              CUDA_ERROR_NO_BINARY_FOR_GPU == 209 && CUDA_ERROR_INVALID_PTX == 218 && CUDA_ERROR_NOT_FOUND == 500 &&
              CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES == 701);
static_assert(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES == 1 && CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES == 3 &&
              CU_FUNC_ATTRIBUTE_NUM_REGS == 4);
