# What a user links:
#
#   linnet::core       engine and decoder            liblinnet_core.so
#   linnet::linnet     everything                    liblinnet.so
#   linnet::frontend   audio and features            liblinnet.so
#   linnet::core_static, linnet::frontend_static, linnet::linnet_static       liblinnet_core.a, ...
#
# The front end uses functions of lib/base that are not public. A shared library hides these, so there are two ways to
# have a shared front end of its own: export them, or copy them into it. The first makes private names part of the ABI;
# with the second a context made by one library is taken apart by another's copy of the code. So only public functions
# ever cross from one shared library to another: each is complete, and linnet::frontend is another name of linnet::linnet.
#
# A static library hides nothing from its neighbours: liblinnet_frontend.a holds the front end alone and needs
# liblinnet_core.a, which CMake adds by itself. liblinnet.a holds everything, so that one -llinnet is enough. Naming it
# together with the others is harmless: all hold the same object files, and a linker takes one only for a symbol that
# it still lacks.
include(GNUInstallDirs)

# No ABI is promised before 1.0: until then each minor version has its own soname.
set(LINNET_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(LINNET_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

# linnet_add_library(TARGET SHARED|STATIC EXPORT-NAME FILE-NAME OBJECTS object-libraries... DEPENDENCIES names...)
# A dependency SOXR is PkgConfig::SOXR here; the package file finds it again as PkgConfig::LINNET_SOXR, which a user's
# own search for that library cannot collide with.
function(linnet_add_library target kind export_name file_name)
  cmake_parse_arguments(ARG "" "" "OBJECTS;DEPENDENCIES" ${ARGN})
  set(objects "")
  foreach(library IN LISTS ARG_OBJECTS)
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_library(${target} ${kind} ${objects})
  add_library(linnet::${export_name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${file_name} EXPORT_NAME ${export_name})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
  if(LINNET_HAVE_CUDA AND NOT target STREQUAL linnet_frontend_static)
    target_link_libraries(${target} PRIVATE CUDA::cudart_static)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  endif()
  foreach(dependency IN LISTS ARG_DEPENDENCIES)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:PkgConfig::${dependency}>
      $<INSTALL_INTERFACE:PkgConfig::LINNET_${dependency}>)
  endforeach()
  if(kind STREQUAL STATIC)
    target_compile_definitions(${target} INTERFACE LINNET_STATIC) # see LINNET_API
  endif()
  if(kind STREQUAL SHARED)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${LINNET_SOVERSION})
    if(NOT LINNET_SANITIZE AND NOT APPLE) # sanitizers leave symbols that only the program defines
      target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()
  endif()
endfunction()

# Headers with functions that the core lacks.
set(LINNET_FRONTEND_HEADERS audio.h augment.h cmvn.h endpoint.h fbank.h kaldi.h linnet.h recognizer.h stream.h)

set(core_objects linnet_lib linnet_decoder)
foreach(set IN LISTS LINNET_KERNEL_SETS LINNET_INT8_SETS)
  list(APPEND core_objects linnet_kernels_${set})
endforeach()
if(LINNET_HAVE_CUDA)
  list(APPEND core_objects linnet_cuda)
endif()
linnet_add_library(linnet_core SHARED core linnet_core OBJECTS ${core_objects} DEPENDENCIES ${LINNET_CORE_NEEDS})
linnet_add_library(linnet_core_static STATIC core_static linnet_core OBJECTS ${core_objects}
  DEPENDENCIES ${LINNET_CORE_NEEDS})
set(LINNET_SHARED_TARGETS linnet_core)
set(LINNET_STATIC_TARGETS linnet_core_static)

if(LINNET_FRONTEND)
  set(all_objects ${core_objects} ${LINNET_FRONTEND_OBJECTS} linnet_recognizer)
  linnet_add_library(linnet SHARED linnet linnet OBJECTS ${all_objects} DEPENDENCIES ${LINNET_ALL_NEEDS})
  add_library(linnet::frontend ALIAS linnet)
  linnet_add_library(linnet_static STATIC linnet_static linnet OBJECTS ${all_objects} DEPENDENCIES ${LINNET_ALL_NEEDS})
  # With liblinnet_core.a it is everything, as linnet::frontend is.
  linnet_add_library(linnet_frontend_static STATIC frontend_static linnet_frontend OBJECTS ${LINNET_FRONTEND_OBJECTS}
    linnet_recognizer DEPENDENCIES ${LINNET_FRONTEND_NEEDS})
  target_link_libraries(linnet_frontend_static PUBLIC linnet_core_static)
  list(APPEND LINNET_SHARED_TARGETS linnet)
  list(APPEND LINNET_STATIC_TARGETS linnet_static linnet_frontend_static)
endif()
