# 64-bit ARM: Raspberry Pi 3 and later, most Linux gateways.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(BERTH_ARCH arm64)
set(BERTH_TRIPLET aarch64-linux-gnu)
set(BERTH_EMULATOR qemu-aarch64-static)
include(${CMAKE_CURRENT_LIST_DIR}/linux.cmake)
