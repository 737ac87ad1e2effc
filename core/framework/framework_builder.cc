#include "core/framework/framework_builder.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace berth {

namespace {

Status unknown(const Registry& registry, const std::string& path, const std::string& name) {
  const std::string at = path.empty() ? path : path + ".name";
  return Status::error(at_path(at, registry.not_known(name)));
}

// A plugin's errors about its arguments name the fields with or without "args" in front; either way the path in the
// configuration file is prepended.
Status args_error(const std::string& name, const std::string& path, const Status& error) {
  if (path.empty()) return Status::error("plugin \"" + name + "\": " + error.message());
  std::vector<std::string> reasons;
  for (const std::string& reason : error.reasons()) {
    const bool from_args = reason.starts_with("args") && reason.find_first_of(".[:") == 4;
    const bool has_path = reason.find(": ") < reason.find(' ');
    reasons.push_back(path + (from_args ? "." : has_path ? ".args." : ".args: ") + reason);
  }
  return {Code::error, std::move(reasons)};
}

Result<std::unique_ptr<Plugin>> make_plugin(const Registry& registry, const Profile& profile, const std::string& name,
                                            Handle& handle) {
  Result<std::unique_ptr<Plugin>> plugin = (*registry.find(name))(profile.args_of(name), handle);
  if (plugin) return plugin;
  auto args = profile.args.find(name);
  return args_error(name, args == profile.args.end() ? std::string() : args->second.path, plugin.error());
}

}  // namespace

FrameworkBuilder::FrameworkBuilder(const Registry& registry, const Profile& profile, Handle& handle)
    : registry_(registry),
      profile_(profile),
      handle_(handle),
      parts_{.completed = {},
             .plugins = {},
             .points = {},
             .binding = {},
             .events = {},
             .recorder = RunRecorder(handle.clock(), handle.metrics(), profile.scheduler_name)} {
  parts_.completed.scheduler_name = profile.scheduler_name;
  parts_.completed.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score;
  parts_.completed.path = profile.path;
  parts_.completed.multi_point.disabled = {"*"};
}

Result<std::unique_ptr<Framework>> FrameworkBuilder::build() {
  if (profile_.scheduler_name.empty()) {
    return Status::error(at_path(profile_.path, "schedulerName is empty; name the profile"));
  }
  Status made = make_plugins();
  if (made.is_success()) made = add_to_points();
  if (made.is_success()) made = check_points();
  if (!made.is_success()) return made;
  return std::make_unique<Framework>(std::move(parts_));
}

Status FrameworkBuilder::make_plugins() {
  for (const ProfilePlugin& entry : profile_.plugins()) {
    if (registry_.find(entry.name) == nullptr) return unknown(registry_, entry.path, entry.name);
    Result<std::unique_ptr<Plugin>> plugin = make_plugin(registry_, profile_, entry.name, handle_);
    if (!plugin) return plugin.error();
    parts_.events.add(entry.name, **plugin);
    complete_args(entry.name, **plugin);
    parts_.plugins.emplace(entry.name, std::move(*plugin));
    if (parts_.plugins.size() > kPluginsMax) {
      return Status::error(at_path(entry.path, "more than " + std::to_string(kPluginsMax) +
                                                   " plugins in one profile; leave out \"" + entry.name + "\""));
    }
  }
  // Arguments of a disabled plugin are validated too, and are part of the completed profile.
  for (const auto& [name, args] : profile_.args) {
    if (parts_.plugins.contains(name)) continue;
    if (registry_.find(name) == nullptr) return unknown(registry_, args.path, name);
    Result<std::unique_ptr<Plugin>> plugin = make_plugin(registry_, profile_, name, handle_);
    if (!plugin) return plugin.error();
    complete_args(name, **plugin);
  }
  return {};
}

void FrameworkBuilder::complete_args(const std::string& name, const Plugin& plugin) {
  Json args = plugin.args();
  if (args.is_null()) args = profile_.args_of(name);
  if (!args.is_null()) parts_.completed.args[name] = {std::move(args), {}};
}

template <class T>
Status FrameworkBuilder::add_to_point(Point point, PluginList<T>& list) {
  auto part_of = [this](const std::string& name) { return dynamic_cast<T*>(parts_.plugins.find(name)->second.get()); };
  Result<std::vector<ProfilePlugin>> order =
      expand(profile_, point, [&part_of](const std::string& name) { return part_of(name) != nullptr; });
  if (!order) return order.error();
  PluginSet& completed = parts_.completed.points[point];
  for (ProfilePlugin& entry : *order) {
    if (entry.weight < 0) {
      return Status::error(at_path(entry.path, "plugin \"" + entry.name + "\": weight " + std::to_string(entry.weight) +
                                                   " must be at least 1; disable the plugin to turn it off"));
    }
    if (entry.weight == 0) entry.weight = 1;
    const auto known = parts_.plugins.find(entry.name);
    Plugin* plugin = known->second.get();
    const auto number = static_cast<std::size_t>(std::distance(parts_.plugins.begin(), known));
    list.push_back({Text::common(entry.name), part_of(entry.name), number, entry.weight,
                    parts_.recorder.evaluations_of(entry.name, point), dynamic_cast<NormalizeScorePlugin*>(plugin),
                    dynamic_cast<SummingPlugin*>(plugin), dynamic_cast<TrackingPlugin*>(plugin),
                    dynamic_cast<BatchFilterPlugin*>(plugin), dynamic_cast<BatchScorePlugin*>(plugin),
                    dynamic_cast<AmountsFilterPlugin*>(plugin)});
    completed.enabled.push_back({entry.name, point == Point::score ? entry.weight : 0, entry.path});
  }
  return {};
}

Status FrameworkBuilder::add_to_points() {
  Status added;
  auto at = [&](Point point, auto& list) {
    if (added.is_success()) added = add_to_point(point, list);
  };
  at(Point::pre_enqueue, parts_.points.pre_enqueue);
  at(Point::queue_sort, parts_.points.queue_sort);
  at(Point::pre_filter, parts_.points.pre_filter);
  at(Point::filter, parts_.points.filter);
  at(Point::post_filter, parts_.points.post_filter);
  at(Point::pre_score, parts_.points.pre_score);
  at(Point::score, parts_.points.score);
  at(Point::reserve, parts_.binding.reserve);
  at(Point::permit, parts_.binding.permit);
  at(Point::pre_bind, parts_.binding.pre_bind);
  at(Point::bind, parts_.binding.bind);
  at(Point::post_bind, parts_.binding.post_bind);
  std::vector<SummingPlugin*>& summing = parts_.points.summing;
  const auto note_summing = [&summing](const auto& list) {
    for (const auto& entry : list) {
      const bool known = std::find(summing.begin(), summing.end(), entry.summing) != summing.end();
      if (entry.summing != nullptr && !known) summing.push_back(entry.summing);
    }
  };
  note_summing(parts_.points.pre_filter);
  note_summing(parts_.points.pre_score);
  return added;
}

Status FrameworkBuilder::check_points() const {
  auto at_point = [this](Point point, const std::string& text) {
    const std::string path =
        parts_.completed.path.empty() ? parts_.completed.path : parts_.completed.path + ".plugins.";
    return Status::error(at_path(path.empty() ? path : path + std::string(to_string(point)), text));
  };
  const PluginList<QueueSortPlugin>& queue_sort = parts_.points.queue_sort;
  if (queue_sort.empty()) {
    return at_point(Point::queue_sort, "no plugin sorts the queue; enable one, such as PrioritySort");
  }
  if (queue_sort.size() > 1) {
    return at_point(Point::queue_sort, "plugins \"" + queue_sort[0].name + "\" and \"" + queue_sort[1].name +
                                           "\" both sort the queue; keep one");
  }
  if (parts_.binding.bind.empty()) {
    return at_point(Point::bind, "no plugin binds pods; enable at least one, such as DefaultBinder");
  }
  std::int64_t left = std::numeric_limits<std::int64_t>::max() / ScorePlugin::kMaxScore;
  for (const ProfilePlugin& entry : parts_.completed.points.at(Point::score).enabled) {
    if (entry.weight > left) {
      return Status::error(at_path(entry.path, "plugin \"" + entry.name + "\": weight " + std::to_string(entry.weight) +
                                                   " makes the sum of scores overflow; lower it"));
    }
    left -= entry.weight;
  }
  return {};
}

}  // namespace berth
