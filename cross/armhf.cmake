# 32-bit ARMv7 with hardware floating point. time_t of the system's libraries has 32 bits: our own code passes
# milliseconds as 64-bit integers and never a time_t.
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(BERTH_ARCH armhf)
set(BERTH_TRIPLET arm-linux-gnueabihf)
set(BERTH_EMULATOR qemu-arm-static)
set(CMAKE_CXX_FLAGS_INIT "-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -Wno-psabi")  # psabi: notes about GCC 6
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
