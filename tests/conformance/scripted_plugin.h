// The plugins A, B, C of the recorded extension points: they answer as the case's script says and record their calls.
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

// Shared by the scripted plugins of a case.
struct PluginScript {
  explicit PluginScript(const Json& input);

  // Null JSON: no rule, which means success.
  const Json& rule(std::string_view plugin, std::string_view point, const std::string& pod,
                   const std::string& node = {}) const;
  // The rule's answer as a status.
  Status answer(std::string_view plugin, std::string_view point, const std::string& pod,
                const std::string& node = {}) const;
  void call(const std::string& pod, std::string_view point, std::string_view plugin, const std::string& detail = {});
  // The plugins in a list of the profile: of an extension point, or another one.
  std::vector<std::string> listed(std::string_view point) const;
  bool lists(std::string_view point, std::string_view plugin) const;

  Json profile;
  std::vector<ScriptRule> rules;
  std::map<std::string, int> attempts;  // by pod
  std::vector<std::string> calls;
};

// Registers the plugins named in the script's profile, and DefaultBinder itself. `script` must outlive them.
Status register_scripted(Registry& registry, PluginScript& script);
// Exactly the plugins that the script's profile lists, with PrioritySort.
Profile scripted_profile(const PluginScript& script);

Status status_of_rule(const Json& rule);

}  // namespace berth
