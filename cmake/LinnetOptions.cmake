# Build options, and the flags that every target shares.
include(CMakeDependentOption)

option(LINNET_FRONTEND "Build the front end" ON)
cmake_dependent_option(LINNET_AUDIO "Read audio files (needs FFTW, libsndfile, soxr); OFF: stored features and raw PCM"
  ON LINNET_FRONTEND OFF)
option(LINNET_TOOLS "Build the linnet command (needs the front end and popt)" ON)
string(COMPARE EQUAL "${CMAKE_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}" LINNET_TOP_LEVEL)
option(LINNET_TESTS "Build the tests" ${LINNET_TOP_LEVEL})
cmake_dependent_option(LINNET_EXPERIMENTS "Build the experiments of recipes/ that are programs of their own"
  ${LINNET_TOP_LEVEL} "LINNET_TOOLS;LINNET_FRONTEND" OFF)
option(LINNET_BLAS "Use a CBLAS library for products where no kernel of our own fits the processor" ON)
option(LINNET_ZLIB "Read language models that are compressed by gzip, if zlib is found" ON)
set(LINNET_CUDA AUTO CACHE STRING "Build the CUDA backend: ON, OFF, or AUTO: where nvcc is found")
set_property(CACHE LINNET_CUDA PROPERTY STRINGS AUTO ON OFF)
option(LINNET_WERROR "Treat warnings as errors" OFF)
set(LINNET_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined or thread")

add_library(linnet_flags INTERFACE)
target_compile_options(linnet_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wno-unknown-pragmas -ffp-contract=off)
target_compile_definitions(linnet_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE
  LINNET_VERSION="${PROJECT_VERSION}")
target_include_directories(linnet_flags INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/lib" "${PROJECT_SOURCE_DIR}")
if(LINNET_WERROR)
  target_compile_options(linnet_flags INTERFACE -Werror)
endif()
if(LINNET_SANITIZE)
  add_compile_options(-fsanitize=${LINNET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LINNET_SANITIZE})
endif()
