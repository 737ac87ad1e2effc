#include "firmware-host/ctl/manifest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/api/config_objects.h"
#include "core/api/validation.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/yaml.h"

namespace berth {

namespace {

constexpr std::size_t kPodBytesMax = 56 * 1024;     // PreBind contains the whole pod (core/handshake/rules.md, Topics)
constexpr std::size_t kObjectBytesMax = 60 * 1024;  // a request is one message of at most 64 KiB

constexpr std::size_t kGeneratedMax = 63;  // bytes of a name made from generateName, as upstream

std::string kind_names() {
  std::string names;
  for (const KindName& kind : kinds()) names += (names.empty() ? "" : ", ") + std::string(kind.name);
  return names;
}

// Reads the documents of one file.
class Reader {
 public:
  Reader(const ManifestRules& rules, Manifests& to) : rules_(rules), to_(to) {}

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
    bool generated = false;
    if (metadata != nullptr && metadata->is_object()) {
      if (kind->namespaced && metadata->find("namespace") == nullptr) metadata->set("namespace", rules_.name_space);
      if (rules_.suffix) generated = make_name(*metadata);
    }
    Warnings warnings;
    const bool is_strict = rules_.validation == Validation::strict;
    const Status checked = check_object(kind->kind, object, &warnings, is_strict ? Rules::strict : Rules::enforced);
    if (rules_.validation == Validation::ignore) std::erase_if(warnings, is_about_unknown_field);
    for (const std::string& warning : warnings) to_.warnings.push_back(line(prefix, warning));
    if (!checked.is_success()) {
      for (const std::string& reason : checked.reasons()) add_error(prefix, reason);
      return;
    }
    const std::size_t limit = kind->kind == Kind::pod ? kPodBytesMax
                              : is_config(kind->kind) ? kConfigTextMax
                                                      : kObjectBytesMax;
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
    manifest.has_generated_name = generated;
    to_.valid.push_back(std::move(manifest));
  }

  bool make_name(Json& metadata) const {
    if (!text_field(metadata, {"name"}).empty()) return false;
    const std::string suffix = rules_.suffix();
    const std::string prefix = text_field(metadata, {"generateName"}).substr(0, kGeneratedMax - suffix.size());
    if (!prefix.empty()) metadata.set("name", prefix + suffix);
    return !prefix.empty();
  }

  std::string line(const std::string& prefix, const std::string& reason) const {
    return document_->locate(prefix + reason);
  }
  void add_error(const std::string& prefix, const std::string& reason) { to_.errors.push_back(line(prefix, reason)); }

  const ManifestRules& rules_;
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

void read_manifests(const std::string& file, std::string_view text, const ManifestRules& rules, Manifests& to) {
  const Result<std::vector<YamlDocument>> documents = parse_yaml(file, text);
  if (!documents) {
    to.errors.insert(to.errors.end(), documents.error().reasons().begin(), documents.error().reasons().end());
    return;
  }
  Reader reader(rules, to);
  for (const YamlDocument& document : *documents) reader.read(document);
}

}  // namespace berth
