# The programs once more with the libraries that they bring along inside: mosquitto, SQLite, cJSON, libyaml, http-parser and
# the C++ run time. The C library stays dynamic, and so does OpenSSL. Targets semi_static: build/ARCH/semi-static/PROGRAM,
# linked of the same objects. BERTH_LIBRARIES names the folder that `cross/libraries ARCH` makes.
find_library(BERTH_STATIC_MOSQUITTO libmosquitto.a PATHS ${BERTH_LIBRARIES} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
find_library(BERTH_STATIC_CJSON libcjson.a PATHS ${BERTH_LIBRARIES} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
set(third_party ${BERTH_STATIC_MOSQUITTO} ${BERTH_STATIC_CJSON})
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

add_custom_target(semi_static)
foreach(program berthd berth-agent berthctl)
  set(rooms)
  berth_rooms_of(${program} rooms)
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
  add_executable(${program}-semi-static EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${program}>)
  add_dependencies(${program}-semi-static ${rooms})
  set_target_properties(${program}-semi-static PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${program}
                        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/semi-static)
  target_link_libraries(${program}-semi-static PRIVATE berth_options -Wl,--start-group ${archives} ${third_party} -Wl,--end-group
                        -static-libstdc++ -static-libgcc -Wl,-s -Wl,--as-needed -lssl -lcrypto -lm)
  add_dependencies(semi_static ${program}-semi-static)
endforeach()
