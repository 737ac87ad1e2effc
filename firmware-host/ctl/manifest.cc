#include "firmware-host/ctl/manifest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/api/decode.h"
#include "core/api/namespace.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/yaml.h"

namespace berth {

namespace {

constexpr std::size_t kPodBytesMax = 56 * 1024;     // PreBind contains the whole pod (core/handshake/rules.md, Topics)
constexpr std::size_t kObjectBytesMax = 63 * 1024;  // a request is one message of at most 64 KiB

template <class T>
Status check_with(Result<T> (*decode)(const Json&, Warnings*, Rules), const Json& object, Warnings& warnings) {
  const Result<T> decoded = decode(object, &warnings, Rules::enforced);
  return decoded ? Status::ok() : decoded.error();
}

Status check_object(Kind kind, const Json& object, Warnings& warnings) {
  switch (kind) {
    case Kind::pod: return check_with(decode_pod, object, warnings);
    case Kind::node: return check_with(decode_node, object, warnings);
    case Kind::persistent_volume: return check_with(decode_persistent_volume, object, warnings);
    case Kind::persistent_volume_claim: return check_with(decode_persistent_volume_claim, object, warnings);
    case Kind::storage_class: return check_with(decode_storage_class, object, warnings);
    case Kind::priority_class: return check_with(decode_priority_class, object, warnings);
    case Kind::namespace_: return check_with(decode_namespace, object, warnings);
    case Kind::service: return check_with(decode_service, object, warnings);
    case Kind::pod_disruption_budget: return check_with(decode_pod_disruption_budget, object, warnings);
    case Kind::csi_node: return check_with(decode_csi_node, object, warnings);
    case Kind::csi_driver: return check_with(decode_csi_driver, object, warnings);
    case Kind::csi_storage_capacity: return check_with(decode_csi_storage_capacity, object, warnings);
  }
  return Status::error("kind: unknown");
}

std::string kind_names() {
  std::string names;
  for (const KindName& kind : kinds()) names += (names.empty() ? "" : ", ") + std::string(kind.name);
  return names;
}

// Reads the documents of one file.
class Reader {
 public:
  Reader(const std::string& name_space, Manifests& to) : name_space_(name_space), to_(to) {}

  void read(const YamlDocument& document) {
    document_ = &document;
    if (!document.value.is_object()) {
      if (!document.value.is_null()) add_error("", "expected an object with apiVersion, kind and metadata");
      return;
    }
    if (text_field(document.value, {"kind"}) != "List") return read_object(document.value, "");
    const Json::Array& items = list_field(document.value, {"items"});
    for (std::size_t i = 0; i < items.size(); ++i) read_object(items[i], "items[" + std::to_string(i) + "].");
  }

 private:
  void read_object(Json object, const std::string& prefix) {
    const std::string name = text_field(object, {"kind"});
    const KindName* kind = find_kind(name);
    if (name.empty()) return add_error(prefix, "kind: missing; use one of " + kind_names());
    if (kind == nullptr || kind->name != name) {
      return add_error(prefix, "kind: unknown kind \"" + name + "\"; use one of " + kind_names());
    }
    Json* metadata = object.find("metadata");
    if (metadata != nullptr && metadata->is_object()) {
      if (kind->namespaced && metadata->find("namespace") == nullptr) metadata->set("namespace", name_space_);
    }
    Warnings warnings;
    const Status checked = check_object(kind->kind, object, warnings);
    for (const std::string& warning : warnings) to_.warnings.push_back(line(prefix, warning));
    if (!checked.is_success()) {
      for (const std::string& reason : checked.reasons()) add_error(prefix, reason);
      return;
    }
    const std::size_t limit = kind->kind == Kind::pod ? kPodBytesMax : kObjectBytesMax;
    if (object.dump().size() > limit) {
      return add_error(
          prefix, "the object is larger than " + std::to_string(limit / 1024) + " KiB; move large data to a volume");
    }
    ManifestDocument manifest;
    manifest.kind = kind;
    manifest.name_space = kind->namespaced ? text_field(object, {"metadata", "namespace"}) : "";
    manifest.name = text_field(object, {"metadata", "name"});
    manifest.where = document_->where(prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1));
    manifest.object = std::move(object);
    to_.valid.push_back(std::move(manifest));
  }

  std::string line(const std::string& prefix, const std::string& reason) const {
    return document_->locate(prefix + reason);
  }
  void add_error(const std::string& prefix, const std::string& reason) { to_.errors.push_back(line(prefix, reason)); }

  const std::string& name_space_;
  Manifests& to_;
  const YamlDocument* document_ = nullptr;
};

}  // namespace

std::string title_of(const KindName& kind, const std::string& name_space, const std::string& name) {
  std::string title;
  for (const char c : kind.name) title += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!name_space.empty()) title += "/" + name_space;
  return title + "/" + name;
}

std::string ManifestDocument::title() const { return title_of(*kind, name_space, name); }

void read_manifests(const std::string& file, std::string_view text, const std::string& name_space, Manifests& to) {
  const Result<std::vector<YamlDocument>> documents = parse_yaml(file, text);
  if (!documents) {
    to.errors.insert(to.errors.end(), documents.error().reasons().begin(), documents.error().reasons().end());
    return;
  }
  Reader reader(name_space, to);
  for (const YamlDocument& document : *documents) reader.read(document);
}

}  // namespace berth
