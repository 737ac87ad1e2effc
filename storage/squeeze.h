// squeeze: writes repeated texts once. What one commit stores is mostly manifests of one template, in which little but
// names and uids differs.
//
// The form, after Lempel and Ziv (1977) and in the manner of LZ4: the size of the whole as a number (core/bytes.h),
// then groups of: a byte with how many bytes follow as they are (upper half) and how many are repeated, less kLeast
// (lower half), each 15 if a number with the rest comes after; the bytes; how far back the repetition begins, as a
// number. The last group ends after its bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

std::string squeeze(std::string_view bytes);
// None: not what squeeze() gave.
std::optional<std::string> unsqueeze(std::string_view squeezed);

}  // namespace berth
