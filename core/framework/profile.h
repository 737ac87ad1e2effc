// Profile: the plugins of each extension point, their order and weights, in the form of a profile of
// KubeSchedulerConfiguration v1: a set per extension point, and multiPoint, whose plugins are enabled at every point
// that they implement. Merging and expansion follow kube-scheduler pkg/scheduler/apis/config/v1/default_plugins.go
// (mergePlugins) and pkg/scheduler/framework/runtime/framework.go (expandMultiPointPlugins).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

enum class Point {
  pre_enqueue,
  queue_sort,
  pre_filter,
  filter,
  post_filter,
  pre_score,
  score,
  reserve,
  permit,
  pre_bind,
  bind,
  post_bind,
};
// In the order in which a pod passes them.
inline constexpr std::array kPoints{Point::pre_enqueue, Point::queue_sort, Point::pre_filter, Point::filter,
                                    Point::post_filter, Point::pre_score,  Point::score,      Point::reserve,
                                    Point::permit,      Point::pre_bind,   Point::bind,       Point::post_bind};
// The key in a configuration: "preFilter". Static storage.
std::string_view to_string(Point point);

// `path` members: the path in the configuration ("profiles[0].plugins.score.enabled[1]") for errors; empty by default.
struct ProfilePlugin {
  std::string name;
  std::int64_t weight = 0;  // for Score; 0 means 1
  std::string path;
};

struct PluginSet {
  std::vector<ProfilePlugin> enabled;  // in order
  std::vector<std::string> disabled;   // "*": all

  bool disables(std::string_view name) const;
};

struct PluginArgs {
  Json value;  // null: defaults
  std::string path;
};

struct Profile {
  std::string scheduler_name = "default-scheduler";
  int percentage_of_nodes_to_score = 0;  // 0: all
  PluginSet multi_point;
  std::map<Point, PluginSet> points;  // absent: multiPoint applies
  std::map<std::string, PluginArgs, std::less<>> args;
  std::string path;

  // Adds the plugin to multiPoint, after those already there.
  Profile& enable(std::string_view name, std::int64_t weight = 0, Json args = {});
  // A null value when none were given.
  const Json& args_of(std::string_view name) const;
  // Every plugin enabled in some set, in order of first occurrence, multiPoint first.
  std::vector<ProfilePlugin> plugins() const;
};

// The custom set merged over the default one: plugins it disables are removed, plugins it lists again are replaced in
// place, the rest of it is appended.
PluginSet merge(const PluginSet& defaults, const PluginSet& custom);
// Merges every set of `custom` over that of `defaults`; everything else is taken from `custom`.
Profile merge(const Profile& defaults, Profile custom);

// The plugins that run at the point, in order: first those enabled by both multiPoint and the point's own set (in the
// order and with the weights of the set), then the rest of multiPoint, then the rest of the set. `implements`: whether
// a plugin implements this point. Fails when a plugin is listed twice, or is enabled by the set but does not implement
// the point.
Result<std::vector<ProfilePlugin>> expand(const Profile& profile, Point point,
                                          const std::function<bool(const std::string& name)>& implements);

// "<path>: <text>"; just the text when the path is empty.
std::string at_path(std::string_view path, std::string_view text);

}  // namespace berth
