# Compiles the sources of a target together, forty at a time: a build from nothing takes half of the time, since
# templates and headers are compiled once and not once for each source. Daily work leaves it off: a change of one source
# compiles its neighbours again. Names in unnamed namespaces may repeat within a room; local_names.py sees to it.
find_program(BERTH_PYTHON python3 REQUIRED)

# Appends to `lines` what local_names.py has to know of a target.
function(berth_together target)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(binary_folder ${target} BINARY_DIR)
  get_target_property(named ${target} SOURCES)
  set(sources)
  foreach(source IN LISTS named)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    if(source MATCHES "\\.cc$" AND EXISTS ${source})
      list(APPEND sources ${source})
    endif()
  endforeach()
  list(LENGTH sources number)
  if(number LESS 2)
    return()
  endif()
  set(header ${binary_folder}/${target}_local_names.h)
  # GCC takes all but the first file for headers, whose unnamed namespaces would be a mistake.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_UNIQUE_ID BERTH_FILE
                        UNITY_BUILD_CODE_BEFORE_INCLUDE "#include \"${header}\"")
  string(APPEND lines "${target};${header};${sources}\n")
  set(lines "${lines}" PARENT_SCOPE)
endfunction()

set(lines)
foreach(folder core plugins storage transports firmware-host firmware-host/ctl tests/unit tests/sim tests/conformance)
  if(BERTH_TESTS OR NOT folder MATCHES "^tests/")
    get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} PROPERTY BUILDSYSTEM_TARGETS)
    get_property(below DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} PROPERTY SUBDIRECTORIES)
    if(folder STREQUAL "tests/unit")
      foreach(room IN LISTS below)
        get_property(more DIRECTORY ${room} PROPERTY BUILDSYSTEM_TARGETS)
        list(APPEND targets ${more})
      endforeach()
    endif()
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type MATCHES "EXECUTABLE|STATIC_LIBRARY")
        berth_together(${target})
      endif()
    endforeach()
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/together.txt "${lines}")
execute_process(COMMAND ${BERTH_PYTHON} ${PROJECT_SOURCE_DIR}/cross/local_names.py ${CMAKE_BINARY_DIR}/together.txt
                        ${CMAKE_SYSROOT}/usr/include/c++ ${CMAKE_BINARY_DIR}/together_groups.cmake
                COMMAND_ERROR_IS_FATAL ANY)
include(${CMAKE_BINARY_DIR}/together_groups.cmake)
