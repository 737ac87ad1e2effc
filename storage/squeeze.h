// squeeze: a small compressor for repeated text. One commit mostly stores manifests made from one template, which
// differ in little but names and uids.
//
// The format is LZ77, similar to LZ4: the uncompressed size as a number (core/bytes.h), then groups. A group is a token
// byte with the number of literals (upper half) and the match length less kLeast (lower half), each 15 if a number with
// the rest follows; the literals; the match distance as a number. The last group ends after its literals.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

std::string squeeze(std::string_view bytes);
// nullopt if the bytes were not made by squeeze().
std::optional<std::string> unsqueeze(std::string_view squeezed);
// The same into a buffer, for who opens many. False if the bytes were not made by squeeze().
bool unsqueeze(std::string_view squeezed, std::string& bytes);

}  // namespace berth
