// Base64 (RFC 4648, with padding), as Kubernetes has bytes in JSON.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

std::string to_base64(std::string_view bytes);
// Line ends are skipped, as Go's decoder does. The error says at which byte the text is wrong, and shows none of it.
Result<std::string> from_base64(std::string_view text);

}  // namespace berth
