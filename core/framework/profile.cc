#include "core/framework/profile.h"

#include <algorithm>
#include <set>

namespace berth {

namespace {

constexpr std::string_view kAll = "*";

bool names(const std::vector<ProfilePlugin>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(), [name](const auto& entry) { return entry.name == name; });
}

Status listed_twice(const ProfilePlugin& entry, Point point) {
  return Status::error(at_path(entry.path, "plugin \"" + entry.name + "\" is listed twice for " +
                                               std::string(to_string(point)) + "; keep one entry"));
}

// Checks a point's own set, independent of multiPoint.
Status check_set(const PluginSet& set, Point point, const std::function<bool(const std::string&)>& implements) {
  std::set<std::string> seen;
  for (const ProfilePlugin& entry : set.enabled) {
    if (!implements(entry.name)) {
      return Status::error(at_path(entry.path, "plugin \"" + entry.name + "\" does not implement " +
                                                   std::string(to_string(point)) + "; remove it here"));
    }
    if (!seen.insert(entry.name).second) return listed_twice(entry, point);
  }
  return {};
}

}  // namespace

std::string_view to_string(Point point) {
  switch (point) {
    case Point::pre_enqueue: return "preEnqueue";
    case Point::queue_sort: return "queueSort";
    case Point::pre_filter: return "preFilter";
    case Point::filter: return "filter";
    case Point::post_filter: return "postFilter";
    case Point::pre_score: return "preScore";
    case Point::score: return "score";
    case Point::reserve: return "reserve";
    case Point::permit: return "permit";
    case Point::pre_bind: return "preBind";
    case Point::bind: return "bind";
    case Point::post_bind: return "postBind";
  }
  return "";
}

bool PluginSet::disables(std::string_view name) const {
  return std::any_of(disabled.begin(), disabled.end(), [name](const auto& each) { return each == name; });
}

Profile& Profile::enable(std::string_view name, std::int64_t weight, Json value) {
  multi_point.enabled.push_back({std::string(name), weight, {}});
  if (!value.is_null()) args[std::string(name)] = {std::move(value), {}};
  return *this;
}

const Json& Profile::args_of(std::string_view name) const {
  static const Json kNone;
  auto found = args.find(name);
  return found == args.end() ? kNone : found->second.value;
}

std::vector<ProfilePlugin> Profile::plugins() const {
  std::vector<ProfilePlugin> all;
  auto add = [&all](const PluginSet& set) {
    for (const ProfilePlugin& entry : set.enabled) {
      if (!names(all, entry.name)) all.push_back(entry);
    }
  };
  add(multi_point);
  for (const auto& [point, set] : points) add(set);
  return all;
}

PluginSet merge(const PluginSet& defaults, const PluginSet& custom) {
  PluginSet merged;
  merged.disabled = custom.disabled;
  merged.disabled.insert(merged.disabled.end(), defaults.disabled.begin(), defaults.disabled.end());
  std::set<std::size_t> used;  // entries of custom that replaced a default
  auto last_named = [&custom](const std::string& name) {
    std::size_t at = custom.enabled.size();
    while (at > 0 && custom.enabled[at - 1].name != name) --at;
    return at;  // index + 1; 0: not found
  };
  for (const ProfilePlugin& entry : defaults.enabled) {
    if (merged.disables(kAll) || merged.disables(entry.name)) continue;
    const std::size_t own = last_named(entry.name);
    if (own > 0) used.insert(own - 1);
    merged.enabled.push_back(own > 0 ? custom.enabled[own - 1] : entry);
  }
  for (std::size_t i = 0; i < custom.enabled.size(); ++i) {
    if (!used.contains(i)) merged.enabled.push_back(custom.enabled[i]);
  }
  return merged;
}

Profile merge(const Profile& defaults, Profile custom) {
  custom.multi_point = merge(defaults.multi_point, custom.multi_point);
  for (const auto& [point, set] : defaults.points) custom.points[point] = merge(set, custom.points[point]);
  return custom;
}

Result<std::vector<ProfilePlugin>> expand(const Profile& profile, Point point,
                                          const std::function<bool(const std::string& name)>& implements) {
  static const PluginSet kNothing;
  auto found = profile.points.find(point);
  const PluginSet& own = found == profile.points.end() ? kNothing : found->second;
  if (Status checked = check_set(own, point, implements); !checked.is_success()) return checked;
  if (own.disables(kAll)) return own.enabled;
  std::vector<ProfilePlugin> from_multi_point;
  std::set<std::string> overridden;
  for (const ProfilePlugin& entry : profile.multi_point.enabled) {
    if (!implements(entry.name) || own.disables(entry.name)) continue;
    if (names(own.enabled, entry.name)) {
      overridden.insert(entry.name);
    } else if (names(from_multi_point, entry.name)) {
      return listed_twice(entry, point);
    } else {
      from_multi_point.push_back(entry);
    }
  }
  std::vector<ProfilePlugin> order;
  std::vector<ProfilePlugin> rest;
  for (const ProfilePlugin& entry : own.enabled) (overridden.contains(entry.name) ? order : rest).push_back(entry);
  order.insert(order.end(), from_multi_point.begin(), from_multi_point.end());
  order.insert(order.end(), rest.begin(), rest.end());
  return order;
}

std::string at_path(std::string_view path, std::string_view text) {
  return path.empty() ? std::string(text) : std::string(path) + ": " + std::string(text);
}

}  // namespace berth
