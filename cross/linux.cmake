# Shared by both toolchain files. The including file sets BERTH_ARCH (Debian's name), BERTH_TRIPLET and BERTH_EMULATOR.
# Headers and libraries come only from the private sysroot created by `cross/sysroot ARCH`.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER ${BERTH_TRIPLET}-g++)
set(CMAKE_C_COMPILER ${BERTH_TRIPLET}-gcc)

get_filename_component(BERTH_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_SYSROOT ${BERTH_ROOT}/build/sysroot-${BERTH_ARCH})
if(NOT EXISTS ${CMAKE_SYSROOT}/.complete)
  message(FATAL_ERROR "no sysroot in ${CMAKE_SYSROOT}: run cross/sysroot ${BERTH_ARCH}")
endif()
set(CMAKE_LIBRARY_ARCHITECTURE ${BERTH_TRIPLET})
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)

# Debian 12 has no pkg-config for the target: point the native one at the sysroot.
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CMAKE_SYSROOT}/usr/lib/${BERTH_TRIPLET}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

set(CMAKE_CROSSCOMPILING_EMULATOR ${BERTH_EMULATOR};-L;${CMAKE_SYSROOT})
