# Links the programs a second time with static libraries: mosquitto, SQLite, cJSON, libyaml, http-parser and the C++ run time.
# The C library stays dynamic, and so do OpenSSL and, where a program uses it, libarchive, which brings eight more libraries; a
# variant without OpenSSL is in plain/. Target semi_static: build/ARCH/semi-static/PROGRAM, linked from the same objects. BERTH_LIBRARIES is the folder of `cross/libraries ARCH`.
set(third_party ${BERTH_LIBRARIES}/libcjson.a)
foreach(name sqlite3 yaml http_parser)
  find_library(BERTH_STATIC_${name} lib${name}.a REQUIRED)
  list(APPEND third_party ${BERTH_STATIC_${name}})
endforeach()

# All of our static libraries that a target links, directly or indirectly.
function(berth_archives_of target result)
  set(archives ${${result}})
  get_target_property(linked ${target} LINK_LIBRARIES)
  foreach(item IN LISTS linked)
    if(TARGET ${item} AND item MATCHES "^berth_" AND NOT item IN_LIST archives)
      get_target_property(type ${item} TYPE)
      if(type STREQUAL STATIC_LIBRARY)
        list(APPEND archives ${item})
        berth_archives_of(${item} archives)
      endif()
    endif()
  endforeach()
  set(${result} ${archives} PARENT_SCOPE)
endfunction()

function(berth_semi_static program variant folder mosquitto tls)
  set(archives)
  berth_archives_of(${program} archives)
  list(TRANSFORM archives REPLACE "^berth_tls$" "${tls}")
  list(TRANSFORM archives REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archive_files)
  set(target ${program}-${variant})
  add_executable(${target} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${program}>)
  add_dependencies(${target} ${archives})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${program}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
  target_link_libraries(${target} PRIVATE berth_options -Wl,--start-group ${archive_files} ${BERTH_LIBRARIES}/${mosquitto}
                        ${third_party} -Wl,--end-group -static-libstdc++ -static-libgcc -Wl,-s -Wl,--as-needed ${ARGN} -larchive -lm)
  add_dependencies(semi_static ${target})
endfunction()

add_custom_target(semi_static)
foreach(program berthd berth-agent berthctl)
  berth_semi_static(${program} semi-static semi-static libmosquitto.a berth_tls -lssl -lcrypto)
  berth_semi_static(${program} plain semi-static/plain libmosquitto-plain.a berth_no_tls)
endforeach()
