# Libraries outside our field, all found by pkg-config. Each is PkgConfig::NAME here, and LINNET_MODULE_NAME is what
# pkg-config calls it. The core needs jansson and threads; CBLAS and zlib are optional; FFTW, libsndfile and
# soxr are for audio, popt for the command.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

set(LINNET_MODULE_JANSSON "jansson>=2.11")
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET ${LINNET_MODULE_JANSSON})
set(LINNET_CORE_NEEDS JANSSON)
target_include_directories(linnet_flags SYSTEM INTERFACE ${JANSSON_INCLUDE_DIRS}) # internal headers include jansson.h

set(LINNET_HAVE_CBLAS OFF)
if(LINNET_BLAS)
  # The first that is there is taken; a single name asks for one.
  set(LINNET_BLAS_PKG "cblas;openblas;blas-openblas;blis" CACHE STRING "pkg-config names of CBLAS libraries to try")
  pkg_search_module(CBLAS IMPORTED_TARGET ${LINNET_BLAS_PKG})
  # It is not linked but loaded by its soname where its kernels are chosen: OpenBLAS takes threads and memory as soon as
  # it is loaded, and hangs at exit if it got too little.
  foreach(library IN LISTS CBLAS_LINK_LIBRARIES)
    execute_process(COMMAND "${CMAKE_READELF}" -d "${library}" OUTPUT_VARIABLE dynamic ERROR_QUIET)
    if(NOT LINNET_HAVE_CBLAS AND dynamic MATCHES "SONAME[^[]*\\[([^]]*)\\]")
      set(LINNET_CBLAS_LIBRARY "${CMAKE_MATCH_1}")
      set(LINNET_HAVE_CBLAS ON)
    endif()
  endforeach()
  if(NOT LINNET_HAVE_CBLAS)
    message(STATUS "No CBLAS found: products use the kernels of Linnet alone")
  endif()
endif()

set(LINNET_HAVE_ZLIB OFF)
if(LINNET_ZLIB)
  set(LINNET_MODULE_ZLIB zlib)
  pkg_check_modules(ZLIB IMPORTED_TARGET ${LINNET_MODULE_ZLIB})
  if(ZLIB_FOUND)
    set(LINNET_HAVE_ZLIB ON)
    list(APPEND LINNET_CORE_NEEDS ZLIB)
  else()
    message(STATUS "No zlib found: language models compressed by gzip cannot be read")
  endif()
endif()

set(LINNET_FRONTEND_NEEDS "")
if(LINNET_AUDIO)
  set(LINNET_MODULE_SNDFILE "sndfile>=1.1")
  set(LINNET_MODULE_SOXR soxr)
  pkg_check_modules(SNDFILE REQUIRED IMPORTED_TARGET ${LINNET_MODULE_SNDFILE})
  pkg_check_modules(SOXR REQUIRED IMPORTED_TARGET ${LINNET_MODULE_SOXR})
  # Any library with FFTW3's single-precision interface will do (docs/licences.md): by the name that pkg-config knows it
  # by, or by flags.
  set(LINNET_FFT_PKG fftw3f CACHE STRING "pkg-config name of the FFT library")
  set(LINNET_FFT_LIBS "" CACHE STRING "How to link the FFT library, such as \"-L/opt/fft/lib -lfft\", without pkg-config")
  set(LINNET_FFT_CFLAGS "" CACHE STRING "Where its fftw3.h is, such as -I/opt/fft/include")
  if(LINNET_FFT_LIBS)
    separate_arguments(FFTW_LDFLAGS UNIX_COMMAND "${LINNET_FFT_LIBS}")
    add_library(PkgConfig::FFTW INTERFACE IMPORTED)
    target_link_libraries(PkgConfig::FFTW INTERFACE ${FFTW_LDFLAGS})
  else()
    set(LINNET_MODULE_FFTW ${LINNET_FFT_PKG})
    pkg_check_modules(FFTW REQUIRED IMPORTED_TARGET ${LINNET_MODULE_FFTW})
  endif()
  separate_arguments(cflags UNIX_COMMAND "${LINNET_FFT_CFLAGS}")
  target_compile_options(PkgConfig::FFTW INTERFACE ${cflags})
  set(LINNET_FRONTEND_NEEDS FFTW SNDFILE SOXR)
endif()
set(LINNET_ALL_NEEDS ${LINNET_CORE_NEEDS} ${LINNET_FRONTEND_NEEDS})

if(LINNET_TOOLS AND LINNET_FRONTEND)
  pkg_check_modules(POPT REQUIRED IMPORTED_TARGET popt)
endif()
