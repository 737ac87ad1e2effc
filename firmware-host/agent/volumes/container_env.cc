#include "firmware-host/agent/volumes/container_env.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "core/json/findings.h"
#include "core/json/members.h"

namespace berth {

namespace {

// apimachinery validation.IsRelaxedEnvVarName, which the kubelet goes by since 1.34.
bool is_variable_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

bool is_optional(const Json& ref) { return member(ref, "optional") == Json(true); }

// An object that is referred to.
struct ObjectRef {
  PodObjectKind kind = PodObjectKind::config_map;
  const Json* ref = nullptr;  // with name, optional, and a key or not
  std::string where;

  bool is_secret() const { return kind == PodObjectKind::secret; }
  std::string name() const { return ref->string_at("name"); }
};

// Of an entry of env or envFrom; `ref` is null if it has none.
ObjectRef object_ref(const Json& holder, const char* config_map, const char* secret, const std::string& path) {
  for (const auto& [key, kind] :
       {std::pair{config_map, PodObjectKind::config_map}, std::pair{secret, PodObjectKind::secret}}) {
    if (const Json& ref = member(holder, key); ref.is_object()) return {kind, &ref, path + "." + key};
  }
  return {};
}

class Environment {
 public:
  Environment(const PodFacts& facts, const PodObjects& objects, const Json& container, std::string path)
      : facts_(facts), objects_(objects), container_(container), path_(std::move(path)) {}

  Result<ContainerEnv> make() {
    const Json::Array& sources = list_of(container_, "envFrom");
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Status added = add_all(sources[i], item_path(path_ + ".envFrom", i));
      if (!added.is_success()) return added;
    }
    const Json::Array& entries = list_of(container_, "env");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Status added = add_entry(entries[i], item_path(path_ + ".env", i));
      if (!added.is_success()) return added;
    }
    made_.variables.assign(values_.begin(), values_.end());
    return std::move(made_);
  }

 private:
  std::string of_pod(const std::string& name) const {
    return member(facts_.pod, "metadata").string_at("namespace") + "/" + name;
  }

  // Null: there is none, and need not be.
  Result<std::shared_ptr<const PodObject>> find(const ObjectRef& ref) const {
    auto object = objects_.find(facts_.tag, ref.kind, ref.name());
    if (object) return object;
    if (is_optional(*ref.ref) && objects_.is_absent(facts_.tag, ref.kind, ref.name())) return object;
    return Status::pending(objects_.why_missing(facts_.tag, ref.kind, ref.name()));
  }

  Status add_all(const Json& source, const std::string& path) {
    const ObjectRef ref = object_ref(source, "configMapRef", "secretRef", path);
    const Result<std::shared_ptr<const PodObject>> object = find(ref);
    if (!object) return object.error();
    if (!*object) return Status::ok();
    const std::string prefix = source.string_at("prefix");
    std::string skipped;
    for (const auto& [key, value] : (*object)->values) {
      if (is_variable_name(prefix + key)) {
        if (Status set = set_value(prefix + key, value, ref.where + " key " + key); !set.is_success()) return set;
      } else {
        skipped += (skipped.empty() ? "" : ", ") + prefix + key;
      }
    }
    if (skipped.empty()) return Status::ok();
    made_.events.push_back("Keys [" + skipped + "] from the EnvFrom " + (ref.is_secret() ? "secret " : "configMap ") +
                           of_pod(ref.name()) +
                           " were skipped since they are considered invalid environment variable names.");
    return Status::ok();
  }

  Status add_entry(const Json& entry, const std::string& path) {
    const std::string name = entry.string_at("name");
    const Json& source = member(entry, "valueFrom");
    if (const std::string text = entry.string_at("value"); !text.empty() || !source.is_object()) {
      return set_value(name, expand(text, [this](const std::string& known) { return value_of(known); }), path);
    }
    const std::string from = path + ".valueFrom";
    if (const Json& field = member(source, "fieldRef"); field.is_object()) {
      return set_value(name, field_value(facts_, field.string_at("fieldPath")), path);
    }
    if (const Json& resource = member(source, "resourceFieldRef"); resource.is_object()) {
      Result<std::string> value = resource_value(facts_, resource, &container_, from + ".resourceFieldRef");
      return value ? set_value(name, std::move(*value), path) : value.error();
    }
    return add_key(name, object_ref(source, "configMapKeyRef", "secretKeyRef", from));
  }

  Status add_key(const std::string& name, const ObjectRef& ref) {
    const Result<std::shared_ptr<const PodObject>> object = find(ref);
    if (!object) return object.error();
    if (!*object) return Status::ok();
    const std::string key = ref.ref->string_at("key");
    const auto found = (*object)->values.find(key);
    if (found != (*object)->values.end()) return set_value(name, found->second, ref.where);
    if (is_optional(*ref.ref)) return Status::ok();
    return Status::pending("couldn't find key " + key + " in " + (ref.is_secret() ? "Secret " : "ConfigMap ") +
                           of_pod(ref.name()));
  }

  std::string value_of(const std::string& name) const {
    const auto found = values_.find(name);
    return found != values_.end() ? found->second : "$(" + name + ")";
  }

  Status set_value(const std::string& name, std::string value, const std::string& where) {
    if (value.find('\0') != std::string::npos) {
      return Status::error(where + ": the value has a NUL, which no variable can: mount it as a file of a volume");
    }
    if (name.size() + value.size() + 2 > kMostArgumentBytes) {
      return Status::error(where + ": name and value must have less than " + std::to_string(kMostArgumentBytes) +
                           " bytes: mount it as a file of a volume");
    }
    const auto [kept, is_new] = values_.try_emplace(name);
    if (is_new) bytes_ += name.size() + 2;  // with "=" and its end
    bytes_ = bytes_ - kept->second.size() + value.size();
    kept->second = std::move(value);
    if (values_.size() <= kMostVariables && bytes_ <= kMostEnvironmentBytes) return Status::ok();
    return Status::error(where + ": the container has more than " + std::to_string(kMostVariables) +
                         " variables, or more than " + std::to_string(kMostEnvironmentBytes) +
                         " bytes of them: mount the object as a volume");
  }

  const PodFacts& facts_;
  const PodObjects& objects_;
  const Json& container_;
  std::string path_;
  std::map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
  ContainerEnv made_;
};

Status check_object_ref(const ObjectRef& ref, bool has_key, const std::string& otherwise) {
  if (ref.ref == nullptr) return Status::error(otherwise);
  if (ref.name().empty()) return Status::error(ref.where + ".name: must name an object");
  if (has_key && ref.ref->string_at("key").empty()) return Status::error(ref.where + ".key: must name a key of it");
  return Status::ok();
}

Status check_entry(const PodFacts& facts, const Json& container, const Json& entry, const std::string& path) {
  if (!is_variable_name(entry.string_at("name"))) {
    return Status::error(path + ".name: must be printable ASCII characters without '='");
  }
  const Json& value = member(entry, "value");
  if (!value.is_null() && !value.is_string()) return Status::error(path + ".value: must be a string: put it in quotes");
  const Json& source = member(entry, "valueFrom");
  if (source.is_null()) return Status::ok();
  const std::string from = path + ".valueFrom";
  if (!entry.string_at("value").empty()) return Status::error(from + ": must not be there besides value");
  if (const Json& field = member(source, "fieldRef"); field.is_object()) {
    return check_field_ref(field, FieldPlace::environment, from + ".fieldRef");
  }
  if (const Json& resource = member(source, "resourceFieldRef"); resource.is_object()) {
    return check_resource_ref(facts, resource, &container, from + ".resourceFieldRef");
  }
  return check_object_ref(object_ref(source, "configMapKeyRef", "secretKeyRef", from), true,
                          from + ": must have one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef");
}

Status expand_list(const Json& container, const char* key, const Variables& variables, const std::string& path,
                   std::vector<std::string>& expanded) {
  std::size_t bytes = 0;
  for (const Json& text : list_of(container, key)) {
    if (!text.is_string()) return Status::error(path + "." + key + ": must be a list of strings");
    expanded.push_back(expand_variables(text.as_string(), variables));
    bytes += expanded.back().size() + 1;
    if (expanded.back().size() < kMostArgumentBytes && bytes <= kMostEnvironmentBytes) continue;
    return Status::error(path + "." + key + ": must have less than " + std::to_string(kMostArgumentBytes) +
                         " bytes each, and " + std::to_string(kMostEnvironmentBytes) + " in all");
  }
  return Status::ok();
}

}  // namespace

Status check_env(const PodFacts& facts, const Json& container, const std::string& path) {
  const Json::Array& sources = list_of(container, "envFrom");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string where = item_path(path + ".envFrom", i);
    const Status checked = check_object_ref(object_ref(sources[i], "configMapRef", "secretRef", where), false,
                                            where + ": must have one of configMapRef and secretRef");
    if (!checked.is_success()) return checked;
  }
  const Json::Array& entries = list_of(container, "env");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Status checked = check_entry(facts, container, entries[i], item_path(path + ".env", i));
    if (!checked.is_success()) return checked;
  }
  return Status::ok();
}

Result<ContainerEnv> container_env(const PodFacts& facts, const PodObjects& objects, const Json& container,
                                   const std::string& path) {
  if (Status checked = check_env(facts, container, path); !checked.is_success()) return checked;
  return Environment(facts, objects, container, path).make();
}

Result<ContainerCommand> container_command(const Json& container, const Variables& variables, const std::string& path) {
  ContainerCommand command;
  Status expanded = expand_list(container, "command", variables, path, command.command);
  if (expanded.is_success()) expanded = expand_list(container, "args", variables, path, command.args);
  if (!expanded.is_success()) return expanded;
  return command;
}

}  // namespace berth
