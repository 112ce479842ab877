# Installation: libraries, headers, command, models, CMake package, pkg-config files.
include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/linnet")

# Libraries. Shared and static ones are exported apart, as only the static ones need to find our dependencies again.
install(TARGETS ${LINNET_SHARED_TARGETS} EXPORT linnet_shared
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
install(TARGETS ${LINNET_STATIC_TARGETS} EXPORT linnet_static
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)

# Headers. Without the front end those of its functions stay out: a program that needs them fails at its #include, not at
# link time.
set(left_out "")
if(NOT LINNET_FRONTEND)
  foreach(header IN LISTS LINNET_FRONTEND_HEADERS)
    list(APPEND left_out PATTERN ${header} EXCLUDE)
  endforeach()
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/linnet" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT development FILES_MATCHING PATTERN *.h ${left_out})

# The command, which finds its library from wherever the tree is moved to (CMAKE_SKIP_INSTALL_RPATH turns that off).
if(TARGET linnet_tool)
  file(RELATIVE_PATH to_libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(linnet_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
  install(TARGETS linnet_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
  install(FILES "${PROJECT_SOURCE_DIR}/tools/completion.sh" RENAME linnet
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT runtime)
endif()
if(TARGET linnet_mpi)
  install(TARGETS linnet_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/linnet" COMPONENT runtime)
endif()

# Models with their cards, lexicons, language models and rules of written text; the manual, and the licences.
set(models_dir "${CMAKE_INSTALL_DATADIR}/linnet/models")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/models/" DESTINATION "${models_dir}"
  COMPONENT runtime FILES_MATCHING PATTERN *.safetensors PATTERN *.bin PATTERN *.txt PATTERN *.json PATTERN *.rules
  PATTERN *.md)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT runtime)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT runtime FILES_MATCHING PATTERN *.md PATTERN *.svg)

# CMake package. Its configuration file looks for what the static libraries need, as NAME=MODULE.
set(LINNET_STATIC_NEEDS "")
set(LINNET_STATIC_FFT_LIBS "")
foreach(dependency IN LISTS LINNET_ALL_NEEDS)
  if(LINNET_MODULE_${dependency})
    string(APPEND LINNET_STATIC_NEEDS " ${dependency}=${LINNET_MODULE_${dependency}}")
  else()
    set(LINNET_STATIC_FFT_LIBS "${LINNET_FFT_LIBS}")
  endif()
endforeach()
install(EXPORT linnet_shared NAMESPACE linnet:: FILE linnet-targets.cmake DESTINATION "${package_dir}"
  COMPONENT development)
install(EXPORT linnet_static NAMESPACE linnet:: FILE linnet-static-targets.cmake DESTINATION "${package_dir}"
  COMPONENT development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/linnet-config.cmake.in"
  "${PROJECT_BINARY_DIR}/linnet-config.cmake" INSTALL_DESTINATION "${package_dir}" PATH_VARS models_dir
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/linnet-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/linnet-config.cmake" "${PROJECT_BINARY_DIR}/linnet-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT development)

# pkg-config files. The prefix is relative to the file itself, so that an installed tree can be moved. Where the user gave
# an absolute folder for libraries it is named, which `cmake --install --prefix` may change, so it is filled in only then.
# The other directories are relative to the prefix unless the user made them absolute.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "@CMAKE_INSTALL_PREFIX@")
else()
  file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(dir IN ITEMS LIBDIR INCLUDEDIR DATADIR)
  set(pc_${dir} "${CMAKE_INSTALL_${dir}}")
  if(NOT IS_ABSOLUTE "${pc_${dir}}")
    set(pc_${dir} "\${prefix}/${pc_${dir}}")
  endif()
endforeach()

# linnet_install_pkg_config(NAME LIBRARY DESCRIPTION DEPENDENCIES...)
# What the static library needs is in Libs.private as flags, not in Requires.private: programs that link the shared one
# then need no headers of our dependencies, and `pkg-config --static` does not ask for all that libsndfile.a would need
# (Debian does not install that), but takes the shared libsndfile.
function(linnet_install_pkg_config pc_name pc_library pc_description)
  set(pc_libs "")
  foreach(dependency IN LISTS ARGN)
    list(APPEND pc_libs ${${dependency}_LDFLAGS})
  endforeach()
  if(LINNET_HAVE_CUDA)
    list(APPEND pc_libs "-L${CUDAToolkit_LIBRARY_DIR}" -lcudart_static -ldl -lrt)
  endif()
  list(APPEND pc_libs -pthread -ldl -lm)
  list(REMOVE_DUPLICATES pc_libs)
  list(JOIN pc_libs " " pc_libs)
  set(file "${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/linnet.pc.in" "${file}.in" @ONLY)
  install(CODE "configure_file(\"${file}.in\" \"${file}\" @ONLY)" COMPONENT development)
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endfunction()

linnet_install_pkg_config(linnet-core linnet_core "Linnet without audio: encoder and decoder" ${LINNET_CORE_NEEDS})
if(LINNET_FRONTEND)
  linnet_install_pkg_config(linnet linnet "${PROJECT_DESCRIPTION}" ${LINNET_ALL_NEEDS})
endif()
