# The programs once more with the libraries that they bring along inside: mosquitto, SQLite, cJSON, libyaml, http-parser and
# the C++ run time. The C library stays dynamic, and so does OpenSSL; without it, below plain/. Target semi_static:
# build/ARCH/semi-static/PROGRAM, linked of the same objects. BERTH_LIBRARIES names the folder of `cross/libraries ARCH`.
set(third_party ${BERTH_LIBRARIES}/libcjson.a)
foreach(name sqlite3 yaml http_parser)
  find_library(BERTH_STATIC_${name} lib${name}.a REQUIRED)
  list(APPEND third_party ${BERTH_STATIC_${name}})
endforeach()

# Every static library of ours that a target is linked with, by another too.
function(berth_rooms_of target result)
  set(rooms ${${result}})
  get_target_property(linked ${target} LINK_LIBRARIES)
  foreach(item IN LISTS linked)
    if(TARGET ${item} AND item MATCHES "^berth_" AND NOT item IN_LIST rooms)
      get_target_property(type ${item} TYPE)
      if(type STREQUAL STATIC_LIBRARY)
        list(APPEND rooms ${item})
        berth_rooms_of(${item} rooms)
      endif()
    endif()
  endforeach()
  set(${result} ${rooms} PARENT_SCOPE)
endfunction()

function(berth_semi_static program variant folder mosquitto tls)
  set(rooms)
  berth_rooms_of(${program} rooms)
  list(TRANSFORM rooms REPLACE "^berth_tls$" "${tls}")
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
  set(target ${program}-${variant})
  add_executable(${target} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${program}>)
  add_dependencies(${target} ${rooms})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${program}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
  target_link_libraries(${target} PRIVATE berth_options -Wl,--start-group ${archives} ${BERTH_LIBRARIES}/${mosquitto}
                        ${third_party} -Wl,--end-group -static-libstdc++ -static-libgcc -Wl,-s -Wl,--as-needed ${ARGN} -lm)
  add_dependencies(semi_static ${target})
endfunction()

add_custom_target(semi_static)
foreach(program berthd berth-agent berthctl)
  berth_semi_static(${program} semi-static semi-static libmosquitto.a berth_tls -lssl -lcrypto)
  berth_semi_static(${program} plain semi-static/plain libmosquitto-plain.a berth_no_tls)
endforeach()
