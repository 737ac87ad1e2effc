#include "firmware-host/agent/volumes/projected_volume.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "core/json/findings.h"
#include "core/json/members.h"

namespace berth {

namespace {

constexpr std::array<std::string_view, 4> kVolumeKinds{"configMap", "secret", "downwardAPI", "projected"};
constexpr std::array<std::string_view, 3> kUnsupportedSources{"serviceAccountToken", "clusterTrustBundle",
                                                              "podCertificate"};

Result<mode_t> mode_of(const Json& holder, const char* key, mode_t otherwise, const std::string& path) {
  const Json& mode = member(holder, key);
  if (mode.is_null()) return otherwise;
  if (mode.is_integer() && mode.as_int() >= 0 && mode.as_int() <= 0777) return static_cast<mode_t>(mode.as_int());
  return Status::error(path + "." + key + ": must be a number between 0 and 511 (0777 octal), got " + show_found(mode));
}

class ProjectionReader {
 public:
  ProjectionReader(const PodFacts& facts, mode_t mode) : facts_(facts), mode_(mode) {}

  // `name_key`: the member that names the object.
  Result<ProjectionSource> read_object(const Json& object, ProjectionSource::Kind kind, const char* name_key,
                                       const std::string& path) {
    ProjectionSource source{kind, object.string_at(name_key), member(object, "optional") == Json(true), mode_, {}};
    if (source.name.empty()) return Status::error(path + "." + name_key + ": must name an object");
    const Json::Array& items = list_of(object, "items");
    for (std::size_t i = 0; i < items.size(); ++i) {
      Result<ProjectionItem> item = read_item(items[i], item_path(path + ".items", i));
      if (!item) return item.error();
      item->key = items[i].string_at("key");
      if (item->key.empty()) return Status::error(item->where + ".key: must name a key of the object");
      source.items.push_back(std::move(*item));
    }
    return source;
  }

  Result<ProjectionSource> read_downward(const Json& downward, const std::string& path) {
    ProjectionSource source{ProjectionSource::Kind::downward_api, {}, false, mode_, {}};
    const Json::Array& items = list_of(downward, "items");
    for (std::size_t i = 0; i < items.size(); ++i) {
      Result<ProjectionItem> item = read_item(items[i], item_path(path + ".items", i));
      if (!item) return item.error();
      item->field_ref = member(items[i], "fieldRef");
      item->resource_ref = member(items[i], "resourceFieldRef");
      if (item->field_ref.is_object() == item->resource_ref.is_object()) {
        return Status::error(item->where + ": must have one of fieldRef and resourceFieldRef");
      }
      const Status checked =
          item->field_ref.is_object()
              ? check_field_ref(item->field_ref, FieldPlace::volume, item->where + ".fieldRef")
              : check_resource_ref(facts_, item->resource_ref, nullptr, item->where + ".resourceFieldRef");
      if (!checked.is_success()) return checked;
      source.items.push_back(std::move(*item));
    }
    return source;
  }

  Result<ProjectionSource> read_source(const Json& source, const std::string& path) {
    using SourceKind = ProjectionSource::Kind;
    for (const std::string_view unsupported : kUnsupportedSources) {
      if (member(source, unsupported).is_null()) continue;
      return Status::error(path + "." + std::string(unsupported) + ": not supported by node " + facts_.node +
                           ", as there is no API server to issue it; use configMap, secret or downwardAPI");
    }
    if (const Json& object = member(source, "configMap"); object.is_object()) {
      return read_object(object, SourceKind::config_map, "name", path + ".configMap");
    }
    if (const Json& object = member(source, "secret"); object.is_object()) {
      return read_object(object, SourceKind::secret, "name", path + ".secret");
    }
    if (const Json& downward = member(source, "downwardAPI"); downward.is_object()) {
      return read_downward(downward, path + ".downwardAPI");
    }
    return Status::error(path + ": must have one of configMap, secret and downwardAPI");
  }

 private:
  Result<ProjectionItem> read_item(const Json& item, const std::string& path) {
    ProjectionItem read;
    read.where = path;
    read.path = item.string_at("path");
    if (Status checked = check_payload_path(read.path); !checked.is_success()) {
      return Status::error(path + ".path: " + checked.message());
    }
    const Result<mode_t> mode = mode_of(item, "mode", mode_, path);
    if (!mode) return mode.error();
    read.mode = *mode;
    return read;
  }

  const PodFacts& facts_;
  mode_t mode_;
};

// volume/util sortLines
std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (std::size_t i = 0; i < lines.size(); ++i) sorted += (i == 0 ? "" : "\n") + lines[i];
  return sorted;
}

// Bounded while it grows: a manifest may ask for one large key a thousand times.
class BoundedPayload {
 public:
  Status add(const std::string& path, const std::string& bytes, mode_t mode) {
    PayloadFile& file = files_[path];
    bytes_ = bytes_ - file.bytes.size() + bytes.size();
    if (bytes_ > kMostPayloadBytes || files_.size() > kMostPayloadFiles) {
      return Status::error("must have at most " + std::to_string(kMostPayloadFiles) + " files and " +
                           std::to_string(kMostPayloadBytes) + " bytes in all: leave some out by items");
    }
    file = {bytes, mode};
    return Status::ok();
  }
  Payload take() { return std::move(files_); }

 private:
  Payload files_;
  std::size_t bytes_ = 0;
};

Status project_object(const PodFacts& facts, const PodObjects& objects, const ProjectionSource& source,
                      BoundedPayload& payload) {
  const bool is_secret = source.kind == ProjectionSource::Kind::secret;
  const PodObjectKind kind = is_secret ? PodObjectKind::secret : PodObjectKind::config_map;
  const auto object = objects.find(facts.tag, kind, source.name);
  if (!object) {
    if (source.optional && objects.is_absent(facts.tag, kind, source.name)) return Status::ok();
    return Status::pending(objects.why_missing(facts.tag, kind, source.name));
  }
  if (source.items.empty()) {
    for (const auto& [key, bytes] : object->values) {
      if (Status added = payload.add(key, bytes, source.mode); !added.is_success()) return added;
    }
  }
  for (const ProjectionItem& item : source.items) {
    const auto found = object->values.find(item.key);
    if (found != object->values.end()) {
      if (Status added = payload.add(item.path, found->second, item.mode); !added.is_success()) return added;
    } else if (!source.optional) {
      return Status::pending(
          (is_secret ? "references non-existent secret key: " : "configmap references non-existent config key: ") +
          item.key);
    }
  }
  return Status::ok();
}

Status project_downward(const PodFacts& facts, const ProjectionSource& source, BoundedPayload& payload) {
  for (const ProjectionItem& item : source.items) {
    const Result<std::string> value =
        item.field_ref.is_object()
            ? Result<std::string>(field_value(facts, item.field_ref.string_at("fieldPath")))
            : resource_value(facts, item.resource_ref, nullptr, item.where + ".resourceFieldRef");
    if (!value) return value.error();
    if (Status added = payload.add(item.path, sorted_lines(*value), item.mode); !added.is_success()) return added;
  }
  return Status::ok();
}

}  // namespace

bool is_projected(const Json& volume) {
  return std::any_of(kVolumeKinds.begin(), kVolumeKinds.end(),
                     [&](std::string_view kind) { return member(volume, kind).is_object(); });
}

Result<Projection> read_projection(const PodFacts& facts, const Json& volume, const std::string& path) {
  using SourceKind = ProjectionSource::Kind;
  const auto kind = std::find_if(kVolumeKinds.begin(), kVolumeKinds.end(),
                                 [&](std::string_view each) { return member(volume, each).is_object(); });
  if (kind == kVolumeKinds.end())
    return Status::error(path + ": has none of configMap, secret, downwardAPI, projected");
  const Json& source = member(volume, *kind);
  const std::string where = path + "." + std::string(*kind);
  const Result<mode_t> mode = mode_of(source, "defaultMode", 0644, where);
  if (!mode) return mode.error();
  ProjectionReader reader(facts, *mode);
  Projection projection;
  const auto add = [&](Result<ProjectionSource> read) {
    if (!read) return Status(read.error());
    projection.push_back(std::move(*read));
    return Status::ok();
  };
  Status added = Status::ok();
  if (*kind == "configMap") {
    added = add(reader.read_object(source, SourceKind::config_map, "name", where));
  } else if (*kind == "secret") {
    added = add(reader.read_object(source, SourceKind::secret, "secretName", where));
  } else if (*kind == "downwardAPI") {
    added = add(reader.read_downward(source, where));
  } else {
    const Json::Array& sources = list_of(source, "sources");
    for (std::size_t i = 0; i < sources.size() && added.is_success(); ++i) {
      added = add(reader.read_source(sources[i], item_path(where + ".sources", i)));
    }
  }
  if (!added.is_success()) return added;
  return projection;
}

Result<Payload> project(const PodFacts& facts, const PodObjects& objects, const Projection& projection) {
  BoundedPayload bounded;
  for (const ProjectionSource& source : projection) {
    const Status added = source.kind == ProjectionSource::Kind::downward_api
                             ? project_downward(facts, source, bounded)
                             : project_object(facts, objects, source, bounded);
    if (!added.is_success()) return added;
  }
  Payload payload = bounded.take();
  if (Status checked = check_payload(payload); !checked.is_success()) return checked;
  return payload;
}

}  // namespace berth
