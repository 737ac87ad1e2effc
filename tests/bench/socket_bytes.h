// Bytes carried by the sockets of this process, as counted by the kernel.
#pragma once

#include <cstdint>
#include <set>

namespace berth::bench {

// The open file descriptors.
std::set<int> open_files();
// TCP payload bytes in both directions over these descriptors; ignores those that are not TCP sockets.
std::uint64_t bytes_on(const std::set<int>& files);

}  // namespace berth::bench
