#include "core/framework/framework.h"

namespace berth {

Status Registry::add(std::string_view name, PluginMaker maker) {
  if (!makers_.emplace(std::string(name), std::move(maker)).second) {
    return Status::error("plugin \"" + std::string(name) + "\" is registered twice");
  }
  return {};
}

Status Registry::merge(const Registry& other) {
  for (const auto& [name, maker] : other.makers_) {
    if (Status added = add(name, maker); !added.is_success()) return added;
  }
  return {};
}

const PluginMaker* Registry::find(std::string_view name) const {
  auto found = makers_.find(name);
  return found == makers_.end() ? nullptr : &found->second;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, maker] : makers_) names.push_back(name);
  return names;
}

std::string Registry::not_known(std::string_view name) const {
  std::string known;
  for (const auto& [each, maker] : makers_) known += (known.empty() ? "" : ", ") + each;
  return "plugin \"" + std::string(name) + "\" is unknown; known plugins: " + known;
}

}  // namespace berth
