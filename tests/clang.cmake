# In a build from scratch, clang compiles the tests of the folder that includes this file, in a third of GCC's time; the
# tested code is compiled by the project's compiler, as shipped. Both use the same ABI, including coroutine frames.
find_program(BERTH_CLANG clang++-19)
if(BERTH_TOGETHER AND BERTH_CLANG AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(compiler ${BERTH_CLANG})
  if(CMAKE_CROSSCOMPILING)
    string(APPEND compiler " --target=${BERTH_TRIPLET} --sysroot=${CMAKE_SYSROOT}")
  endif()
  # Asio detects coroutines with GCC, but not with clang and GCC's library; that library also uses functions that it marks
  # as deprecated.
  set(CMAKE_CXX_COMPILE_OBJECT "${compiler} <DEFINES> -DASIO_HAS_CO_AWAIT -DASIO_HAS_STD_COROUTINE <INCLUDES> <FLAGS> \
-Wno-unknown-warning-option -Wno-deprecated-declarations -o <OBJECT> -c <SOURCE>")
endif()
# Options for clang's precompiled headers, whatever compiler CMake is configured for. Templates are instantiated with the
# header, not again in each source. Without a timestamp, ccache can cache it.
set(CMAKE_PCH_EXTENSION .pch)
set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -Xclang -emit-pch -Xclang -fno-pch-timestamp -fpch-instantiate-templates -Xclang
                                         -include -Xclang <PCH_HEADER> -x c++-header)
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE> -Xclang -include -Xclang <PCH_HEADER>)
