// Plugins A, B, C of the recorded extension points: each answers as the case's script says and keeps a diary of calls.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/framework/framework.h"

namespace berth {

// One rule of a script; empty fields match everything.
struct ScriptRule {
  std::string plugin, point, pod, node;
  int attempt = -1;
  Json answer;  // the whole rule
};

// What the scripted plugins of one case share.
struct PluginScript {
  explicit PluginScript(const Json& input);

  // Null JSON: no rule, so success.
  const Json& rule(std::string_view plugin, std::string_view point, const std::string& pod,
                   const std::string& node = {}) const;
  // The same as a status.
  Status answer(std::string_view plugin, std::string_view point, const std::string& pod,
                const std::string& node = {}) const;
  void call(const std::string& pod, std::string_view point, std::string_view plugin, const std::string& detail = {});
  // The plugins listed at a point, or in another list of the profile.
  std::vector<std::string> listed(std::string_view point) const;
  bool lists(std::string_view point, std::string_view plugin) const;

  Json profile;
  std::vector<ScriptRule> rules;
  std::map<std::string, int> attempts;  // by pod
  std::vector<std::string> calls;
};

// The names that the script's profile uses, DefaultBinder left out, as makers. `script` outlives the plugins.
Status register_scripted(Registry& registry, PluginScript& script);
// Exactly the plugins that the script's profile lists, with PrioritySort.
Profile scripted_profile(const PluginScript& script);

Status status_of_rule(const Json& rule);

}  // namespace berth
