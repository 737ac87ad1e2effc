// Manifests: files of one or more documents, decoded here as the gateway will decode them, so that a bad one is refused
// before anything is sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/api/objects.h"
#include "core/json/json.h"
#include "firmware-host/ctl/outcome.h"

namespace berth {

struct ManifestDocument {
  const KindName* kind = nullptr;
  std::string name_space;  // empty for kinds without one
  std::string name;
  Json object;
  std::string where;  // "pods.yaml:12:1"

  // "pod/default/sensor", "node/n1".
  std::string title() const;
};

// "pod/default/sensor"; an empty namespace is left out.
std::string title_of(const KindName& kind, const std::string& name_space, const std::string& name);

// Adds the manifests of one text to `to`, in their order. `file` is for messages. What is wrong in any document is
// told in one failure, a line each: "file:line:column: path: what is wrong; what to do". Documents that are empty are
// passed over. `warnings` gets lines of the same form.
// `name_space` is given to what names none.
Outcome<void> read_manifests(const std::string& file, std::string_view text, const std::string& name_space,
                             std::vector<ManifestDocument>& to, std::vector<std::string>& warnings);

}  // namespace berth
