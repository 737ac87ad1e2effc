#include "firmware-host/agent/containers/object_file.h"

#include <fstream>
#include <iterator>

#include "core/api/config_refs.h"
#include "core/base64.h"
#include "core/json/members.h"

namespace berth {

namespace {

constexpr std::size_t kTextBytesMax = 64 << 20;  // of as many objects as a pod may name, none larger than its limit

PodObjectKind kind_of(bool is_secret) { return is_secret ? PodObjectKind::secret : PodObjectKind::config_map; }

}  // namespace

std::string objects_text(const PodObjects& objects, const Tag& tag, const Json& manifest) {
  Json list = Json::array();
  for (const ConfigName& named : config_names_of(manifest)) {
    const bool is_secret = named.kind == Kind::secret;
    const std::shared_ptr<const PodObject> object = objects.find(tag, kind_of(is_secret), named.name);
    Json entry = Json::object();
    entry.set("secret", is_secret).set("name", named.name);
    if (object) {
      Json values = Json::object();
      for (const auto& [key, value] : object->values) values.set(key, to_base64(value));
      entry.set("immutable", object->immutable).set("values", std::move(values));
    } else if (!objects.is_absent(tag, kind_of(is_secret), named.name)) {
      entry.set("missing", objects.why_missing(tag, kind_of(is_secret), named.name));
    }
    list.push_back(std::move(entry));
  }
  return list.as_array().empty() ? std::string() : Json::object().set("objects", std::move(list)).dump();
}

void ObjectFile::take(const std::string& text) {
  const Result<Json> json = Json::parse(text, {.bytes = kTextBytesMax, .depth = 8});
  if (!json) return;
  objects_.clear();
  missing_.clear();
  for (const Json& entry : list_of(*json, "objects")) {
    const Json& secret = member(entry, "secret");
    const Id id{kind_of(secret.is_bool() && secret.as_bool()), entry.string_at("name")};
    const Json& values = member(entry, "values");
    if (!values.is_object()) {  // there is none of this name, or it is not on this device
      if (std::string why = entry.string_at("missing"); !why.empty()) missing_[id] = std::move(why);
      continue;
    }
    auto object = std::make_shared<PodObject>();
    const Json& immutable = member(entry, "immutable");
    object->immutable = immutable.is_bool() && immutable.as_bool();
    for (const auto& [key, value] : values.as_object()) {
      const Result<std::string> bytes = from_base64(value.is_string() ? value.as_string() : "");
      if (bytes) object->values[key] = *bytes;
    }
    objects_[id] = std::move(object);
  }
}

void ObjectFile::reload() {
  std::ifstream in(path_, std::ios::binary);
  if (in) take({std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
}

std::shared_ptr<const PodObject> ObjectFile::find(const Tag& /*pod*/, PodObjectKind kind,
                                                  const std::string& name) const {
  const auto found = objects_.find({kind, name});
  return found == objects_.end() ? nullptr : found->second;
}

bool ObjectFile::is_absent(const Tag& /*pod*/, PodObjectKind kind, const std::string& name) const {
  return !objects_.contains({kind, name}) && !missing_.contains({kind, name});
}

std::string ObjectFile::why_missing(const Tag& pod, PodObjectKind kind, const std::string& name) const {
  const auto missing = missing_.find({kind, name});
  return missing == missing_.end() ? PodObjects::why_missing(pod, kind, name) : missing->second;
}

}  // namespace berth
