// Building a framework from a profile: what may be wrong with it is said here, each error naming the plugin.
#include <limits>
#include <set>

#include "core/framework/framework.h"

namespace berth {

namespace {

std::string known_names(const Registry& registry) {
  std::string text;
  for (const std::string& name : registry.names()) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// What a profile may say before any plugin is made.
Status check_entries(const Registry& registry, const Profile& profile) {
  std::set<std::string> seen;
  for (const ProfilePlugin& entry : profile.plugins) {
    if (registry.find(entry.name) == nullptr) {
      return Status::error("plugin \"" + entry.name + "\" is not known; known are: " + known_names(registry));
    }
    if (!seen.insert(entry.name).second) {
      return Status::error("plugin \"" + entry.name + "\" is listed twice; keep one entry");
    }
    if (entry.weight <= 0) {
      return Status::error("plugin \"" + entry.name + "\": weight " + std::to_string(entry.weight) +
                           " must be at least 1; leave the plugin out to turn it off");
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Framework>> Framework::make(const Registry& registry, const Profile& profile, Handle& handle) {
  if (profile.scheduler_name.empty()) return Status::error("schedulerName is empty; name the profile");
  if (Status checked = check_entries(registry, profile); !checked.is_success()) return checked;
  std::unique_ptr<Framework> framework(new Framework());
  framework->scheduler_name_ = profile.scheduler_name;
  for (const ProfilePlugin& entry : profile.plugins) {
    Result<std::unique_ptr<Plugin>> plugin = (*registry.find(entry.name))(entry.args, handle);
    if (!plugin) return Status::error("plugin \"" + entry.name + "\": " + plugin.error().message());
    framework->place(entry, std::move(*plugin));
  }
  if (framework->queue_sort_.empty()) {
    return Status::error("no plugin sorts the queue; list one, such as PrioritySort");
  }
  if (framework->queue_sort_.size() > 1) {
    return Status::error("plugins \"" + framework->queue_sort_[0].name + "\" and \"" + framework->queue_sort_[1].name +
                         "\" both sort the queue; keep one");
  }
  if (framework->bind_.empty()) return Status::error("no plugin binds pods; list at least one, such as DefaultBinder");
  std::int64_t left = std::numeric_limits<std::int64_t>::max() / ScorePlugin::kMaxScore;
  for (const Named<ScorePlugin>& entry : framework->score_) {
    if (entry.weight > left) {
      return Status::error("plugin \"" + entry.name + "\": weight " + std::to_string(entry.weight) +
                           " makes the sum of scores overflow; lower it");
    }
    left -= entry.weight;
  }
  return framework;
}

void Framework::place(const ProfilePlugin& entry, std::unique_ptr<Plugin> plugin) {
  auto at = [&]<class T>(std::vector<Named<T>>& point) {
    if (T* part = dynamic_cast<T*>(plugin.get())) point.push_back({entry.name, part, entry.weight});
  };
  at(pre_enqueue_);
  at(queue_sort_);
  at(pre_filter_);
  at(filter_);
  at(post_filter_);
  at(pre_score_);
  at(score_);
  at(reserve_);
  at(permit_);
  at(pre_bind_);
  at(bind_);
  at(post_bind_);
  register_events(entry.name, *plugin);
  plugins_.push_back(std::move(plugin));
}

void Framework::register_events(const std::string& name, Plugin& plugin) {
  std::vector<EventWithHint>& events = events_[name];
  const auto* extensions = dynamic_cast<const EnqueueExtensions*>(&plugin);
  if (extensions == nullptr) {
    events.push_back({});
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
