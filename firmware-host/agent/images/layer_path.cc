#include "firmware-host/agent/images/layer_path.h"

#include <algorithm>

namespace berth {

namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kMetadata = ".wh..wh.";

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace

Result<std::string> layer_path(std::string_view name) {
  if (name.empty()) return Status::error("an entry has no name");
  if (name.front() == '/') return Status::error("the name " + in_quotes(name) + " is absolute; it must be relative");
  std::string path;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      return Status::error("the name " + in_quotes(name) + " has \"..\" in it, which could lead out of the layer");
    }
    if (!path.empty()) path += '/';
    path += part;
  }
  return path.empty() ? "." : path;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Result<EntryMeaning> meaning_of(const std::string& path) {
  if (path.find(std::string(kWhiteout)) == std::string::npos) return EntryMeaning{};
  const std::string parent = parent_of(path);
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (("/" + parent).find("/" + std::string(kWhiteout)) != std::string::npos) {
    return Status::error("the name " + in_quotes(path) + " is below a whiteout, which is no directory");
  }
  if (name == kOpaque) return EntryMeaning{EntryKind::opaque, parent};
  if (name.starts_with(kMetadata)) return EntryMeaning{EntryKind::aufs_metadata, {}};
  if (!name.starts_with(kWhiteout)) return EntryMeaning{};
  const std::string_view hidden = name.substr(kWhiteout.size());
  if (hidden.empty() || hidden == "." || hidden == "..") {
    return Status::error("the whiteout " + in_quotes(path) + " must name a file");
  }
  return EntryMeaning{EntryKind::whiteout, (parent == "." ? std::string() : parent + "/") + std::string(hidden)};
}

}  // namespace berth
