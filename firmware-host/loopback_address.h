// Tells whether a host is this machine.
#pragma once

#include <string_view>

namespace berth {

// True for localhost, 127.0.0.0/8 and ::1: what is sent there does not leave the machine.
bool is_loopback(std::string_view host);

}  // namespace berth
