// What sockets of this process have carried, as the kernel counts it.
#pragma once

#include <cstdint>
#include <set>

namespace berth::bench {

// Descriptors that are open now.
std::set<int> open_files();
// Payload bytes of TCP, both ways, over these descriptors; those that are no TCP socket count nothing.
std::uint64_t bytes_on(const std::set<int>& files);

}  // namespace berth::bench
