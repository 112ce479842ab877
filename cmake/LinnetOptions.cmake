# Build options, and the flags that every target shares.
include(CMakeDependentOption)

option(LINNET_FRONTEND "Build the front end" ON)
cmake_dependent_option(LINNET_AUDIO "Read audio files, and resample (needs FFTW, libsndfile, soxr)"
  ON LINNET_FRONTEND OFF)
cmake_dependent_option(LINNET_FFTW "Compute features of samples by FFTW, if it is found" ON LINNET_FRONTEND OFF)
option(LINNET_TOOLS "Build the linnet command (needs the front end and popt)" ON)
string(COMPARE EQUAL "${CMAKE_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}" LINNET_TOP_LEVEL)
option(LINNET_TESTS "Build the tests" ${LINNET_TOP_LEVEL})
cmake_dependent_option(LINNET_EXPERIMENTS "Build the experiments of recipes/ that are programs of their own"
  ${LINNET_TOP_LEVEL} "LINNET_TOOLS;LINNET_FRONTEND" OFF)
option(LINNET_BLAS "Use a CBLAS library for products where no kernel of our own fits the processor" ON)
option(LINNET_ZLIB "Read language models that are compressed by gzip, if zlib is found" ON)
set(LINNET_PORTAUDIO AUTO CACHE STRING "Microphones for linnet listen: ON, OFF, or AUTO: if PortAudio is found")
set_property(CACHE LINNET_PORTAUDIO PROPERTY STRINGS AUTO ON OFF)
set(LINNET_MPI AUTO CACHE STRING "Training by several processes over MPI: ON, OFF, or AUTO: if an MPI library is found")
set_property(CACHE LINNET_MPI PROPERTY STRINGS AUTO ON OFF)
set(LINNET_CUDA AUTO CACHE STRING "Build the CUDA backend: ON, OFF, or AUTO: where nvcc is found")
set_property(CACHE LINNET_CUDA PROPERTY STRINGS AUTO ON OFF)
option(LINNET_WERROR "Treat warnings as errors" OFF)
set(LINNET_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined or thread")

add_library(linnet_flags INTERFACE)
target_compile_options(linnet_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wno-unknown-pragmas -ffp-contract=off)
target_compile_definitions(linnet_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE _FILE_OFFSET_BITS=64
  LINNET_VERSION="${PROJECT_VERSION}" LINNET_BUILD)
target_include_directories(linnet_flags INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/lib" "${PROJECT_SOURCE_DIR}")
# Assertions name their file: relative to the sources, so that builds in two places are the same.
include(CheckCCompilerFlag)
check_c_compiler_flag("-fmacro-prefix-map=a=b" LINNET_CC_PREFIX_MAP)
if(LINNET_CC_PREFIX_MAP)
  target_compile_options(linnet_flags INTERFACE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
endif()
if(LINNET_WERROR)
  target_compile_options(linnet_flags INTERFACE -Werror)
endif()

# Kernels and tests round and compare floats, so expressions of float must be computed in float. With -std=c11, GCC takes
# double for them on s390, and on 32-bit x86 the 80 bits of the x87 unless it may use SSE2.
include(CheckCSourceCompiles)
foreach(flags IN ITEMS " " -fexcess-precision=fast "-msse2 -mfpmath=sse")
  string(MAKE_C_IDENTIFIER "LINNET_PLAIN_FLOAT${flags}" plain)
  set(CMAKE_REQUIRED_FLAGS "${flags}")
  check_c_source_compiles("#include <float.h>
    #if FLT_EVAL_METHOD != 0
    #error Floats are computed with excess precision.
    #endif
    int main(void) { return 0; }" ${plain})
  unset(CMAKE_REQUIRED_FLAGS)
  if(${plain})
    separate_arguments(flags)
    add_compile_options(${flags})
    break()
  endif()
endforeach()
if(NOT ${plain})
  message(FATAL_ERROR "This compiler computes float expressions with more precision (FLT_EVAL_METHOD is not 0): "
    "set CFLAGS to what makes it use float")
endif()
if(LINNET_SANITIZE)
  add_compile_options(-fsanitize=${LINNET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LINNET_SANITIZE})
  if(LINNET_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    add_link_options(-static-libasan) # reaches its thread-local variables sooner: commands take a tenth less time
  endif()
endif()
