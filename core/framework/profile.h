// Profile: which plugins take part where, in which order and with which weights, in the form of a profile of
// KubeSchedulerConfiguration v1. A set per extension point; what is in multiPoint takes part at every point that it
// implements. Merging and expansion follow kube-scheduler pkg/scheduler/apis/config/v1/default_plugins.go
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
// In the order in which a pod meets them.
inline constexpr std::array kPoints{Point::pre_enqueue, Point::queue_sort, Point::pre_filter, Point::filter,
                                    Point::post_filter, Point::pre_score,  Point::score,      Point::reserve,
                                    Point::permit,      Point::pre_bind,   Point::bind,       Point::post_bind};
// The key in a configuration: "preFilter". Static storage.
std::string_view to_string(Point point);

// `path` members: where a configuration says it ("profiles[0].plugins.score.enabled[1]"), for errors; empty: nowhere,
// it is a default.
struct ProfilePlugin {
  std::string name;
  std::int64_t weight = 0;  // at Score; 0: 1
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
  std::map<Point, PluginSet> points;  // absent: as multiPoint says
  std::map<std::string, PluginArgs, std::less<>> args;
  std::string path;

  // At every point that the plugin implements, after those already there.
  Profile& enable(std::string_view name, std::int64_t weight = 0, Json args = {});
  // Null when none were given.
  const Json& args_of(std::string_view name) const;
  // Every plugin that some set enables, in order of first mention, multiPoint first.
  std::vector<ProfilePlugin> plugins() const;
};

// The custom set laid over the default one: what it disables goes, what it names anew is replaced in its place, the
// rest of it follows.
PluginSet merge(const PluginSet& defaults, const PluginSet& custom);
// Every set of `custom` laid over those of `defaults`; all else is `custom`'s.
Profile merge(const Profile& defaults, Profile custom);

// Who runs at the point, in order: first what both multiPoint and the point's own set enable (in the order and with the
// weights of the set), then the rest of multiPoint, then the rest of the set. `implements`: whether a plugin has this
// point. An error names the plugin that is there twice, or that the set enables and that has no such point.
Result<std::vector<ProfilePlugin>> expand(const Profile& profile, Point point,
                                          const std::function<bool(const std::string& name)>& implements);

// "<path>: <text>"; the text alone without a path.
std::string at_path(std::string_view path, std::string_view text);

}  // namespace berth
