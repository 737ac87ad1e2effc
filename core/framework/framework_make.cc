// Building a framework from a profile, with validation: every error has the configuration path and the plugin.
#include <limits>

#include "core/framework/framework.h"

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

Result<std::unique_ptr<Framework>> Framework::make(const Registry& registry, const Profile& profile, Handle& handle) {
  if (profile.scheduler_name.empty()) {
    return Status::error(at_path(profile.path, "schedulerName is empty; name the profile"));
  }
  std::unique_ptr<Framework> framework(new Framework());
  framework->clock_ = &handle.clock();
  framework->metrics_ = handle.metrics();
  framework->scheduler_name_ = profile.scheduler_name;
  framework->completed_.scheduler_name = profile.scheduler_name;
  framework->completed_.percentage_of_nodes_to_score = profile.percentage_of_nodes_to_score;
  framework->completed_.path = profile.path;
  framework->completed_.multi_point.disabled = {"*"};
  Status made = framework->make_plugins(registry, profile, handle);
  if (made.is_success()) made = framework->add_to_points(profile);
  if (made.is_success()) made = framework->check_points();
  if (!made.is_success()) return made;
  return framework;
}

Status Framework::make_plugins(const Registry& registry, const Profile& profile, Handle& handle) {
  for (const ProfilePlugin& entry : profile.plugins()) {
    if (registry.find(entry.name) == nullptr) return unknown(registry, entry.path, entry.name);
    Result<std::unique_ptr<Plugin>> plugin = make_plugin(registry, profile, entry.name, handle);
    if (!plugin) return plugin.error();
    register_events(entry.name, **plugin);
    complete_args(profile, entry.name, **plugin);
    plugins_.emplace(entry.name, std::move(*plugin));
    if (plugins_.size() > kPluginsMax) {
      return Status::error(at_path(entry.path, "more than " + std::to_string(kPluginsMax) +
                                                   " plugins in one profile; leave out \"" + entry.name + "\""));
    }
  }
  // Arguments of a disabled plugin are validated too, and are part of the completed profile.
  for (const auto& [name, args] : profile.args) {
    if (plugins_.contains(name)) continue;
    if (registry.find(name) == nullptr) return unknown(registry, args.path, name);
    Result<std::unique_ptr<Plugin>> plugin = make_plugin(registry, profile, name, handle);
    if (!plugin) return plugin.error();
    complete_args(profile, name, **plugin);
  }
  return {};
}

void Framework::complete_args(const Profile& profile, const std::string& name, const Plugin& plugin) {
  Json args = plugin.args();
  if (args.is_null()) args = profile.args_of(name);
  if (!args.is_null()) completed_.args[name] = {std::move(args), {}};
}

Counter* Framework::evaluations_of(const std::string& plugin, Point point) const {
  if (metrics_ == nullptr) return nullptr;
  auto counter = [&](std::string_view label) {
    return &metrics_->plugin_evaluations.at({plugin, label, scheduler_name_});
  };
  if (point == Point::pre_filter) return counter("PreFilter");
  if (point == Point::filter) return counter("Filter");
  if (point == Point::pre_score) return counter("PreScore");
  if (point == Point::score) return counter("Score");
  return nullptr;
}

template <class T>
Status Framework::add_to_point(const Profile& profile, Point point, std::vector<Named<T>>& list) {
  auto part_of = [this](const std::string& name) { return dynamic_cast<T*>(plugins_.find(name)->second.get()); };
  Result<std::vector<ProfilePlugin>> order =
      expand(profile, point, [&part_of](const std::string& name) { return part_of(name) != nullptr; });
  if (!order) return order.error();
  PluginSet& completed = completed_.points[point];
  for (ProfilePlugin& entry : *order) {
    if (entry.weight < 0) {
      return Status::error(at_path(entry.path, "plugin \"" + entry.name + "\": weight " + std::to_string(entry.weight) +
                                                   " must be at least 1; disable the plugin to turn it off"));
    }
    if (entry.weight == 0) entry.weight = 1;
    const auto known = plugins_.find(entry.name);
    Plugin* plugin = known->second.get();
    const auto number = static_cast<std::size_t>(std::distance(plugins_.begin(), known));
    list.push_back({Text::common(entry.name), part_of(entry.name), number, entry.weight,
                    evaluations_of(entry.name, point), dynamic_cast<NormalizeScorePlugin*>(plugin),
                    dynamic_cast<SummingPlugin*>(plugin), dynamic_cast<TrackingPlugin*>(plugin),
                    dynamic_cast<BatchFilterPlugin*>(plugin), dynamic_cast<BatchScorePlugin*>(plugin)});
    completed.enabled.push_back({entry.name, point == Point::score ? entry.weight : 0, entry.path});
  }
  return {};
}

Status Framework::add_to_points(const Profile& profile) {
  Status added;
  auto at = [&](Point point, auto& list) {
    if (added.is_success()) added = add_to_point(profile, point, list);
  };
  at(Point::pre_enqueue, pre_enqueue_);
  at(Point::queue_sort, queue_sort_);
  at(Point::pre_filter, pre_filter_);
  at(Point::filter, filter_);
  at(Point::post_filter, post_filter_);
  at(Point::pre_score, pre_score_);
  at(Point::score, score_);
  at(Point::reserve, reserve_);
  at(Point::permit, permit_);
  at(Point::pre_bind, pre_bind_);
  at(Point::bind, bind_);
  at(Point::post_bind, post_bind_);
  const auto note_summing = [this](const auto& list) {
    for (const auto& entry : list) {
      const bool known = std::find(summing_.begin(), summing_.end(), entry.summing) != summing_.end();
      if (entry.summing != nullptr && !known) summing_.push_back(entry.summing);
    }
  };
  note_summing(pre_filter_);
  note_summing(pre_score_);
  return added;
}

Status Framework::check_points() const {
  auto at_point = [this](Point point, const std::string& text) {
    const std::string path = completed_.path.empty() ? completed_.path : completed_.path + ".plugins.";
    return Status::error(at_path(path.empty() ? path : path + std::string(to_string(point)), text));
  };
  if (queue_sort_.empty()) {
    return at_point(Point::queue_sort, "no plugin sorts the queue; enable one, such as PrioritySort");
  }
  if (queue_sort_.size() > 1) {
    return at_point(Point::queue_sort, "plugins \"" + queue_sort_[0].name + "\" and \"" + queue_sort_[1].name +
                                           "\" both sort the queue; keep one");
  }
  if (bind_.empty()) return at_point(Point::bind, "no plugin binds pods; enable at least one, such as DefaultBinder");
  std::int64_t left = std::numeric_limits<std::int64_t>::max() / ScorePlugin::kMaxScore;
  for (const ProfilePlugin& entry : completed_.points.at(Point::score).enabled) {
    if (entry.weight > left) {
      return Status::error(at_path(entry.path, "plugin \"" + entry.name + "\": weight " + std::to_string(entry.weight) +
                                                   " makes the sum of scores overflow; lower it"));
    }
    left -= entry.weight;
  }
  return {};
}

namespace {

// Whether the plugin has a point whose rejections are remembered in the queue by plugin name.
bool may_reject(const Plugin& plugin) {
  return dynamic_cast<const PreEnqueuePlugin*>(&plugin) != nullptr ||
         dynamic_cast<const PreFilterPlugin*>(&plugin) != nullptr ||
         dynamic_cast<const FilterPlugin*>(&plugin) != nullptr ||
         dynamic_cast<const ReservePlugin*>(&plugin) != nullptr ||
         dynamic_cast<const PermitPlugin*>(&plugin) != nullptr;
}

}  // namespace

void Framework::register_events(const std::string& name, Plugin& plugin) {
  std::vector<EventWithHint>& events = events_[name];
  const auto* extensions = dynamic_cast<const EnqueueExtensions*>(&plugin);
  if (extensions == nullptr) {
    // A plugin that can reject pods but registers no events is woken by every event; others need no events.
    if (may_reject(plugin)) events.push_back({});
    return;
  }
  events = extensions->events_to_register();
  bool node_add = false;
  bool node_taint = false;
  for (const EventWithHint& entry : events) {
    if (entry.event.resource != EventResource::node) continue;
    node_add = node_add || (entry.event.actions & kAdd) != 0;
    node_taint = node_taint || (entry.event.actions & kUpdateNodeTaint) != 0;
  }
  if (node_add && !node_taint) events.push_back({{EventResource::node, kUpdateNodeTaint, "NodeTaintUpdate"}, nullptr});
}

}  // namespace berth
