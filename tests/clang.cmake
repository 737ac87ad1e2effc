# A build from nothing leaves the tests themselves to clang, which compiles them in a third of GCC's time; what they test is
# compiled by the project's compiler, as it is shipped. Both follow one ABI, coroutine frames included. For the folder that
# includes this.
find_program(BERTH_CLANG clang++-19)
if(BERTH_TOGETHER AND BERTH_CLANG AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(compiler ${BERTH_CLANG})
  if(CMAKE_CROSSCOMPILING)
    string(APPEND compiler " --target=${BERTH_TRIPLET} --sysroot=${CMAKE_SYSROOT}")
  endif()
  # Asio finds by itself that GCC has coroutines, and has to be told of clang's with GCC's library, which uses what it calls
  # deprecated itself.
  set(CMAKE_CXX_COMPILE_OBJECT "${compiler} <DEFINES> -DASIO_HAS_CO_AWAIT -DASIO_HAS_STD_COROUTINE <INCLUDES> <FLAGS> \
-Wno-unknown-warning-option -Wno-deprecated-declarations -o <OBJECT> -c <SOURCE>")
endif()
# A precompiled header as clang makes and takes it, whatever compiler CMake knows of. The templates that it uses are compiled
# with it, and not once more for each source. It names no dates: ccache gives it back with others.
set(CMAKE_PCH_EXTENSION .pch)
set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -Xclang -emit-pch -Xclang -fno-pch-timestamp -fpch-instantiate-templates -Xclang
                                         -include -Xclang <PCH_HEADER> -x c++-header)
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE> -Xclang -include -Xclang <PCH_HEADER>)
