#include "core/api/manifest.h"

#include "core/api/objects.h"

namespace berth {

namespace {

// In a shape; no JSON has them.
constexpr char kName = 1;
constexpr char kUid = 2;
constexpr char kVerbatim = 3;  // first: a text that has them all the same follows
constexpr std::string_view kMarks("\1\2\3", 3);

// `from` is not empty.
void replace_all(std::string& text, std::string_view from, char to) {
  std::size_t kept = 0;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != std::string::npos; at = found + from.size()) {
    if (kept != at) text.replace(kept, found - at, text, at, found - at);
    kept += found - at;
    text[kept++] = to;
  }
  text.erase(kept, at - kept);
}

}  // namespace

Json Manifest::json() const {
  if (text_.empty()) return {};
  Result<Json> parsed = Json::parse(text_.get(), {.bytes = text_.size(), .depth = 80});
  return parsed ? std::move(*parsed) : Json::object();
}

Manifest Pod::manifest() const {
  const std::string& from = shape;
  if (from.starts_with(kVerbatim)) return Manifest::of_text(from.substr(1));
  std::string text;
  text.reserve(from.size() + 2 * (metadata.name.size() + metadata.uid.size()));
  for (std::size_t at = 0; at < from.size();) {
    const std::size_t mark = std::min(from.find_first_of(kMarks, at), from.size());
    text.append(from, at, mark - at);
    if (mark < from.size()) text += from[mark] == kName ? metadata.name : metadata.uid.get();
    at = mark + 1;
  }
  return Manifest::of_text(std::move(text));
}

void Pod::set_manifest(std::string_view text) {
  std::string made(text);
  if (text.find_first_of(kMarks) != std::string_view::npos) {
    made.insert(made.begin(), kVerbatim);
  } else {
    if (!metadata.uid.empty()) replace_all(made, metadata.uid, kUid);
    if (!metadata.name.empty()) replace_all(made, metadata.name, kName);
  }
  shape = Text::common(made);
}

}  // namespace berth
