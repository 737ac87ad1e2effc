#include "firmware-host/gateway/scheduler_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "core/api/volume.h"
#include "core/json/field_reader.h"
#include "firmware-host/config.h"
#include "firmware-host/real_clock.h"
#include "firmware-host/yaml.h"
#include "plugins/devicerefusals.h"
#include "plugins/nodecapabilities.h"
#include "plugins/registry.h"

namespace berth {

namespace {

constexpr std::string_view kApiVersion = "kubescheduler.config.k8s.io/v1";
constexpr std::string_view kKind = "KubeSchedulerConfiguration";
constexpr std::string_view kMultiPoint = "multiPoint";
constexpr std::int64_t kLongestBackoffSeconds = 365 * 24 * 3600;

struct Unsupported {
  std::string_view key, why;
};
// A file made for kube-scheduler has them, and nothing is lost without them.
constexpr std::array kMeaningless{
    Unsupported{"parallelism", "Berth schedules on one thread"},
    Unsupported{"leaderElection", "a fleet has one gateway; its state directory and name exclude a second one"},
    Unsupported{"clientConnection", "there is no API server; the broker is set in berthd's own configuration"},
    Unsupported{"enableProfiling", "there is no profiling endpoint"},
    Unsupported{"enableContentionProfiling", "there is no profiling endpoint"},
    Unsupported{"percentageOfPlacementsToScore", "pods are placed one by one"},
    Unsupported{"delayCacheUntilActive", "there is no leader election"},
};
// Without them pods would be placed differently.
constexpr std::array kUnsupportedFields{
    Unsupported{"extenders", "compile your own plugins in instead, see plugins/README.md"},
};
constexpr std::array kUnsupportedPoints{
    Unsupported{"placementGenerate", "pods are placed one by one"},
    Unsupported{"placementScore", "pods are placed one by one"},
    Unsupported{"placementFeasible", "pods are placed one by one"},
    Unsupported{"podGroupPostFilter", "pods are placed one by one"},
};
// Plugins of kube-scheduler that Berth does not have: disabling them is accepted and does nothing.
constexpr std::array<std::string_view, 6> kNotHere{"GangScheduling", "NodeDeclaredFeatures", "EBSLimits",
                                                   "GCEPDLimits",    "AzureDiskLimits",      "CinderLimits"};

// An empty list says that there are none.
template <std::size_t N>
void refuse_fields(FieldReader& reader, const std::array<Unsupported, N>& fields) {
  for (const Unsupported& each : fields) {
    const Json* value = reader.take(each.key);
    if (value == nullptr || *value == Json(Json::Array())) continue;
    reader.error(each.key, "not supported: " + std::string(each.why) + "; remove it");
  }
}

template <std::size_t N>
void warn_of_fields(FieldReader& reader, const std::array<Unsupported, N>& fields) {
  for (const Unsupported& each : fields) {
    if (reader.has(each.key)) reader.warn(each.key, "has no meaning here and is ignored: " + std::string(each.why));
  }
}

// Plugins are constructed once without a gateway, so that configuration errors are found before anything is opened.
class NoGateway final : public Handle {
 public:
  const Clock& clock() const override { return clock_; }
  const Snapshot& snapshot() const override { return snapshot_; }
  const Lister& lister() const override { return lister_; }
  const Nominator& nominator() const override { return nominator_; }

 private:
  class Nothing final : public Lister {
   public:
    std::shared_ptr<const PersistentVolumeClaim> claim(const std::string&) const override { return nullptr; }
    std::shared_ptr<const PersistentVolume> volume(const std::string&) const override { return nullptr; }
    std::shared_ptr<const StorageClass> storage_class(const std::string&) const override { return nullptr; }
    std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string&) const override {
      return {};
    }
  };
  RealClock clock_;
  Snapshot snapshot_;
  Nothing lister_;
  Nominator nominator_;
};

class Reading {
 public:
  explicit Reading(const Registry& registry) : registry_(registry) {}

  void read(FieldReader& reader, SchedulerConfig& out) {
    read_head(reader);
    warn_of_fields(reader, kMeaningless);
    refuse_fields(reader, kUnsupportedFields);
    read_seconds(reader, "podInitialBackoffSeconds", out.pod_initial_backoff_ms);
    read_seconds(reader, "podMaxBackoffSeconds", out.pod_max_backoff_ms);
    if (out.pod_max_backoff_ms < out.pod_initial_backoff_ms) {
      reader.error("podMaxBackoffSeconds", "must not be less than podInitialBackoffSeconds, " +
                                               std::to_string(out.pod_initial_backoff_ms / 1000));
    }
    read_percentage(reader, percentage_);
    reader.read_each("profiles", [&](FieldReader& item) { read_profile(item, out.profiles); });
    if (out.profiles.empty()) out.profiles.emplace_back();
    name_profiles(reader, out.profiles);
    for (Profile& profile : out.profiles) profile = merge(default_profile(), std::move(profile));
  }
  int percentage() const { return percentage_; }

 private:
  static void read_head(FieldReader& reader) {
    std::string text;
    if (reader.require("apiVersion", kApiVersion)) reader.read_enum("apiVersion", {kApiVersion}, text);
    if (reader.require("kind", kKind)) reader.read_enum("kind", {kKind}, text);
  }

  static void read_seconds(FieldReader& reader, std::string_view key, Millis& out) {
    std::int64_t seconds = 0;
    if (reader.read_int64(key, seconds, 1, kLongestBackoffSeconds)) out = seconds * 1000;
  }

  static void read_percentage(FieldReader& reader, int& out) {
    std::int32_t percentage = 0;
    if (reader.read_int32("percentageOfNodesToScore", percentage, 0, 100)) out = percentage;
  }

  void read_profile(FieldReader& reader, std::vector<Profile>& profiles) {
    Profile& profile = profiles.emplace_back();
    profile.path = reader.path();
    profile.scheduler_name.clear();
    if (!reader.read_string("schedulerName", profile.scheduler_name)) unnamed_.insert(profiles.size() - 1);
    profile.percentage_of_nodes_to_score = percentage_;
    read_percentage(reader, profile.percentage_of_nodes_to_score);
    warn_of_fields(reader, std::array{Unsupported{"percentageOfPlacementsToScore", "pods are placed one by one"}});
    reader.read_object("plugins", [&](FieldReader& sets) {
      refuse_fields(sets, kUnsupportedPoints);
      sets.read_object(kMultiPoint, [&](FieldReader& set) { read_set(set, true, profile.multi_point); });
      for (const Point point : kPoints) {
        sets.read_object(to_string(point),
                         [&](FieldReader& set) { read_set(set, point == Point::score, profile.points[point]); });
      }
    });
    reader.read_each("pluginConfig", [&](FieldReader& item) { read_args(item, profile); });
  }

  void read_set(FieldReader& reader, bool weighs, PluginSet& out) {
    reader.read_each("enabled", [&](FieldReader& item) {
      ProfilePlugin& entry = out.enabled.emplace_back();
      entry.path = item.path();
      read_known(item, entry.name);
      std::int32_t weight = 0;
      item.read_int32("weight", weight, 0);
      if (weight != 0 && !weighs) item.error("weight", "only score and multiPoint have weights; remove it");
      entry.weight = weight;
    });
    reader.read_each("disabled", [&](FieldReader& item) {
      std::string name;
      if (!item.require("name", "a plugin, or \"*\" for all") || !item.read_string("name", name)) return;
      if (name != "*" && std::find(kNotHere.begin(), kNotHere.end(), name) == kNotHere.end()) check(item, name);
      out.disabled.push_back(std::move(name));
    });
  }

  bool read_known(FieldReader& item, std::string& name) {
    if (!item.require("name", "the name of a plugin") || !item.read_string("name", name)) return false;
    return check(item, name);
  }

  bool check(FieldReader& item, const std::string& name) {
    const bool known = registry_.find(name) != nullptr;
    if (!known) item.error("name", registry_.not_known(name));
    return known;
  }

  void read_args(FieldReader& reader, Profile& profile) {
    std::string name;
    const Json* given = reader.take("args");
    if (!read_known(reader, name)) return;
    PluginArgs args{given == nullptr ? Json() : *given, reader.path()};
    if (given != nullptr && !given->is_object()) {
      return reader.error("args", "expected an object, got " + show_found(*given));
    }
    if (given != nullptr) {
      // kind and apiVersion are optional; the plugin validates the rest.
      FieldReader head(*given, reader.path_of("args"), reader.findings());
      const std::string kind = name + "Args";
      std::string text;
      head.read_enum("kind", {kind}, text);
      head.read_enum("apiVersion", {kApiVersion}, text);
      args.value.erase("kind");
      args.value.erase("apiVersion");
    }
    if (!profile.args.emplace(name, std::move(args)).second) {
      reader.error("name", "another entry configures " + name + "; keep one");
    }
  }

  void name_profiles(FieldReader& reader, std::vector<Profile>& profiles) {
    if (profiles.size() == 1 && (profiles[0].path.empty() || unnamed_.contains(0))) {
      profiles[0].scheduler_name = Profile().scheduler_name;
      if (profiles[0].path.empty()) profiles[0].percentage_of_nodes_to_score = percentage_;
    }
    std::map<std::string, std::string> paths;
    for (const Profile& profile : profiles) {
      const std::string path = profile.path.empty() ? "profiles" : profile.path + ".schedulerName";
      if (profile.scheduler_name.empty()) {
        reader.findings().error(path, "missing; set the name that pods use in spec.schedulerName");
      } else if (auto [other, fresh] = paths.emplace(profile.scheduler_name, profile.path); !fresh) {
        reader.findings().error(path, "duplicate name \"" + profile.scheduler_name + "\", already used by " +
                                          other->second + "; names must be unique");
      }
    }
  }

  const Registry& registry_;
  int percentage_ = 0;
  std::set<std::size_t> unnamed_;
};

Json named(const std::string& name) { return Json(Json::Object{{"name", Json(name)}}); }

Json show(const Profile& profile, int percentage) {
  Json plugins = Json::object();
  plugins.set(kMultiPoint, Json(Json::Object{{"disabled", Json(Json::Array{named("*")})}}));
  for (const auto& [point, set] : profile.points) {
    if (set.enabled.empty()) continue;
    Json enabled = Json::array();
    for (const ProfilePlugin& entry : set.enabled) {
      Json item = named(entry.name);
      if (entry.weight != 0) item.set("weight", entry.weight);
      enabled.push_back(std::move(item));
    }
    plugins.set(to_string(point), Json(Json::Object{{"enabled", std::move(enabled)}}));
  }
  Json shown = Json::object();
  shown.set("schedulerName", profile.scheduler_name);
  if (profile.percentage_of_nodes_to_score != percentage) {
    shown.set("percentageOfNodesToScore", profile.percentage_of_nodes_to_score);
  }
  shown.set("plugins", std::move(plugins));
  if (profile.args.empty()) return shown;
  Json configs = Json::array();
  for (const auto& [name, args] : profile.args) {
    Json with_kind(Json::Object{{"apiVersion", Json(kApiVersion)}, {"kind", Json(name + "Args")}});
    for (const auto& [key, value] : args.value.as_object()) with_kind.set(key, value);
    configs.push_back(named(name).set("args", std::move(with_kind)));
  }
  shown.set("pluginConfig", std::move(configs));
  return shown;
}

// Upstream has neither, so that a profile which names all of upstream's plugins, and no other, has switched them off.
void warn_of_missing(const Profile& completed, std::vector<std::string>& warnings) {
  const auto& filters = completed.points.at(Point::filter).enabled;
  std::string missing;
  for (const std::string_view plugin : {NodeCapabilities::kName, DeviceRefusals::kName}) {
    const bool is_on = std::any_of(filters.begin(), filters.end(),
                                   [&plugin](const ProfilePlugin& filter) { return filter.name == plugin; });
    if (!is_on) missing += (missing.empty() ? "" : " and ") + std::string(plugin);
  }
  if (missing.empty()) return;
  const std::string profile = completed.path.empty() ? "profiles" : completed.path;
  warnings.push_back(profile + ".plugins: profile " + completed.scheduler_name + " has switched off " + missing +
                     ", Berth's own: devices are asked for what they cannot do or have refused; enable them too, see "
                     "plugins/README.md");
}

// Constructs each profile and fills in config.completed. Errors are reasons with a path.
std::vector<std::string> complete(SchedulerConfig& config, const Registry& registry, int percentage) {
  NoGateway handle;
  std::vector<std::string> errors;
  std::optional<Profile> first;
  Json profiles = Json::array();
  for (const Profile& profile : config.profiles) {
    const Result<std::unique_ptr<Framework>> made = Framework::make(registry, profile, handle);
    if (!made) {
      for (const std::string& reason : made.error().reasons()) errors.push_back(reason);
      continue;
    }
    const Profile& completed = (*made)->completed();
    profiles.push_back(show(completed, percentage));
    warn_of_missing(completed, config.warnings);
    if (!first) {
      first = completed;
      continue;
    }
    const std::string& mine = completed.points.at(Point::queue_sort).enabled[0].name;
    const std::string& theirs = first->points.at(Point::queue_sort).enabled[0].name;
    if (mine != theirs) {
      errors.push_back(profile.path + ".plugins.queueSort: " + mine + " here, but " + theirs + " in " + first->path +
                       "; all profiles share one queue, use the same plugin");
    } else if (completed.args_of(mine) != first->args_of(theirs)) {
      errors.push_back(profile.path + ".pluginConfig: the arguments of " + mine + " differ from those in " +
                       first->path + "; all profiles share one queue, use the same arguments");
    }
  }
  config.completed = Json(Json::Object{{"apiVersion", Json(kApiVersion)},
                                       {"kind", Json(kKind)},
                                       {"percentageOfNodesToScore", Json(percentage)},
                                       {"podInitialBackoffSeconds", Json(config.pod_initial_backoff_ms / 1000)},
                                       {"podMaxBackoffSeconds", Json(config.pod_max_backoff_ms / 1000)},
                                       {"profiles", std::move(profiles)}});
  return errors;
}

}  // namespace

Result<SchedulerConfig> parse_scheduler_config(std::string_view file, std::string_view text, const Registry& registry) {
  const Result<YamlDocument> document = parse_yaml_config(file, text);
  if (!document) return document.error();
  Findings findings(Findings::Unknown::refuse);
  FieldReader reader(document->value, "", findings);
  SchedulerConfig config;
  Reading reading(registry);
  reading.read(reader, config);
  reader.finish();
  std::vector<std::string> errors = findings.status().reasons();
  if (errors.empty()) errors = complete(config, registry, reading.percentage());
  for (const std::string& warning : findings.warnings()) config.warnings.push_back(warning);
  for (std::string& warning : config.warnings) warning = document->locate(warning);
  if (errors.empty()) return config;
  for (std::string& reason : errors) reason = document->locate(reason);
  return Status(Code::error, std::move(errors));
}

Result<SchedulerConfig> read_scheduler_config(const std::string& path, const Registry& registry) {
  if (path.empty()) {
    const std::string empty = "apiVersion: " + std::string(kApiVersion) + "\nkind: " + std::string(kKind) + "\n";
    return parse_scheduler_config("(defaults)", empty, registry);
  }
  Result<std::string> text = read_config_file(path);
  if (!text) return text.error();
  return parse_scheduler_config(path, *text, registry);
}

}  // namespace berth
