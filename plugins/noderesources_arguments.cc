#include "plugins/noderesources_arguments.h"

#include <algorithm>

#include "core/api/names.h"
#include "core/framework/plugin.h"
#include "core/json/field_reader.h"

namespace berth {

namespace {

using StrategyType = ScoringStrategy::Type;

constexpr std::array kTypes{
    EnumName<StrategyType>{"LeastAllocated", StrategyType::least_allocated},
    EnumName<StrategyType>{"MostAllocated", StrategyType::most_allocated},
    EnumName<StrategyType>{"RequestedToCapacityRatio", StrategyType::requested_to_capacity_ratio}};
// Scores range from 0 to 10 in the configuration, to 100 in the framework.
constexpr std::int32_t kMaxShapeScore = 10;

// A missing weight, or 0, defaults to 1, as upstream. `allow_duplicates`: a resource listed twice counts twice.
void read_resources(FieldReader& reader, std::int64_t max_weight, bool allow_duplicates,
                    std::vector<ScoredResource>& out) {
  std::vector<ScoredResource> named;
  reader.read_each("resources", [&](FieldReader& item) {
    std::string name;
    if (item.require("name", "the name of a resource, such as cpu")) {
      item.read_checked("name", name, is_label_key, "the name of a resource, such as cpu or example.com/gpu");
    }
    std::int64_t weight = 0;
    item.read_int64("weight", weight, 0, max_weight);
    const bool twice =
        std::any_of(named.begin(), named.end(), [&name](const ScoredResource& other) { return other.name == name; });
    named.emplace_back(std::move(name), weight == 0 ? 1 : weight);
    if (twice && !allow_duplicates) item.error("name", "duplicate resource; keep one");
  });
  if (!named.empty()) out = std::move(named);
}

void read_shape(FieldReader& reader, std::vector<ShapePoint>& out) {
  reader.read_each("shape", [&](FieldReader& item) {
    std::int32_t utilization = 0;
    std::int32_t score = 0;
    item.read_int32("utilization", utilization, 0, 100);
    item.read_int32("score", score, 0, kMaxShapeScore);
    if (!out.empty() && utilization <= out.back().utilization) {
      item.error("utilization", "must be greater than in the previous point; sort the points");
    }
    out.push_back({utilization, std::int64_t{score} * (ScorePlugin::kMaxScore / kMaxShapeScore)});
  });
  if (out.empty()) reader.error("shape", "expected at least one point {utilization, score}");
}

void read_strategy(FieldReader& reader, ScoringStrategy& out) {
  if (reader.require("type", "LeastAllocated, MostAllocated or RequestedToCapacityRatio")) {
    reader.read_enum("type", kTypes, out.type);
  }
  read_resources(reader, 100, true, out.resources);
  const bool by_ratio = out.type == StrategyType::requested_to_capacity_ratio;
  const bool given =
      reader.read_object("requestedToCapacityRatio", [&](FieldReader& ratio) { read_shape(ratio, out.shape); });
  if (by_ratio && !given) reader.error("requestedToCapacityRatio", "missing; this type requires a shape");
}

void read_names(FieldReader& reader, std::string_view key, bool groups, std::set<std::string>& out) {
  std::vector<std::string> names;
  if (!reader.read_list(key, names)) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool good =
        groups ? names[i].find('/') == std::string::npos && is_label_key(names[i]) : is_label_key(names[i]);
    if (!good) {
      reader.findings().error(
          item_path(reader.path_of(key), i),
          groups ? "expected a group such as example.com, without '/'" : "expected a resource name");
    }
    out.insert(names[i]);
  }
}

}  // namespace

Result<FitArguments> read_fit_arguments(const Json& args) {
  FitArguments arguments;
  if (args.is_null()) return arguments;
  Findings findings(Findings::Unknown::refuse);
  FieldReader reader(args, "args", findings);
  read_names(reader, "ignoredResources", false, arguments.ignored_resources);
  read_names(reader, "ignoredResourceGroups", true, arguments.ignored_resource_groups);
  reader.read_object("scoringStrategy", [&](FieldReader& item) { read_strategy(item, arguments.strategy); });
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return arguments;
}

Result<std::vector<ScoredResource>> read_balanced_arguments(const Json& args) {
  std::vector<ScoredResource> resources{{"cpu", 1}, {"memory", 1}};
  if (args.is_null()) return resources;
  Findings findings(Findings::Unknown::refuse);
  FieldReader reader(args, "args", findings);
  read_resources(reader, 1, false, resources);
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return resources;
}

Json to_json(const std::vector<ScoredResource>& resources) {
  Json list = Json::array();
  for (const ScoredResource& resource : resources) {
    list.push_back(Json(Json::Object{{"name", resource.name}, {"weight", resource.weight}}));
  }
  return Json(Json::Object{{"resources", std::move(list)}});
}

Json to_json(const FitArguments& arguments) {
  Json strategy = to_json(arguments.strategy.resources);
  for (const EnumName<StrategyType>& name : kTypes) {
    if (name.value == arguments.strategy.type) strategy.set("type", std::string(name.text));
  }
  if (arguments.strategy.type == StrategyType::requested_to_capacity_ratio) {
    Json shape = Json::array();
    for (const ShapePoint& point : arguments.strategy.shape) {
      shape.push_back(Json(Json::Object{{"utilization", point.utilization},
                                        {"score", point.score / (ScorePlugin::kMaxScore / kMaxShapeScore)}}));
    }
    strategy.set("requestedToCapacityRatio", Json(Json::Object{{"shape", std::move(shape)}}));
  }
  Json args{Json::Object{{"scoringStrategy", std::move(strategy)}}};
  for (const auto& [key, names] : {std::pair{"ignoredResources", &arguments.ignored_resources},
                                   {"ignoredResourceGroups", &arguments.ignored_resource_groups}}) {
    if (names->empty()) continue;
    Json list = Json::array();
    for (const std::string& name : *names) list.push_back(name);
    args.set(key, std::move(list));
  }
  return args;
}

}  // namespace berth
