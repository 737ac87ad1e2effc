// UTF-8, as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The length in bytes of the character at text[at]; 0 when it is not valid UTF-8. at < text.size().
std::size_t utf8_length(std::string_view text, std::size_t at);
bool is_utf8(std::string_view text);
// The text with each byte that is not UTF-8, and each NUL, replaced by U+FFFD.
std::string to_readable(std::string_view text);
// At most `bytes` bytes of valid UTF-8 text, cut between characters; "..." is appended when something was cut.
std::string shorten(std::string_view text, std::size_t bytes);
// The text in pieces of at most `bytes` (4 or more), cut between characters. Valid UTF-8; an empty text is one piece.
std::vector<std::string_view> pieces_of(std::string_view text, std::size_t bytes);

}  // namespace berth
