# Three link targets, each shared and static: core (engine and decoder), frontend, and linnet (all).
set(LINNET_SOVERSION 0)

function(linnet_add_library name)
  cmake_parse_arguments(ARG "" "" "OBJECTS;PUBLIC;PRIVATE" ${ARGN})
  foreach(kind SHARED STATIC)
    set(target ${name})
    if(kind STREQUAL STATIC)
      set(target ${name}_static)
    endif()
    add_library(${target} ${kind} ${ARG_OBJECTS})
    add_library(linnet::${target} ALIAS ${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION}
      SOVERSION ${LINNET_SOVERSION})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<INSTALL_INTERFACE:include>)
    target_link_libraries(${target} PRIVATE ${ARG_PRIVATE} m)
    list(APPEND LINNET_INSTALL_TARGETS ${target})
  endforeach()
  set(LINNET_INSTALL_TARGETS ${LINNET_INSTALL_TARGETS} PARENT_SCOPE)
endfunction()
