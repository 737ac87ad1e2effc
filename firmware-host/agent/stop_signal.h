// The signals that can be sent to a container to stop it, by their names.
#pragma once

#include <optional>
#include <string_view>

namespace berth {

// "SIGTERM", "TERM" or "15", as images and lifecycle.stopSignal write them (core/v1, Signal; image-spec, StopSignal);
// "SIGRTMIN+3" too. None: there is no such signal, or the text is empty.
std::optional<int> signal_number(std::string_view text);

}  // namespace berth
