// Manifests: files of one or more documents, decoded here with the gateway's decoders, so that invalid ones are refused
// before anything is sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/api/kind.h"
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

// "pod/default/sensor"; an empty namespace is omitted.
std::string title_of(const KindName& kind, const std::string& name_space, const std::string& name);

// Appends the manifests of one file to `to`, in order. `file` is for messages. All errors are returned in one failure,
// one per line: "file:line:column: path: error; fix". Empty documents are skipped. `warnings` gets lines of the same
// form. `name_space` applies to objects without a namespace.
Outcome<void> read_manifests(const std::string& file, std::string_view text, const std::string& name_space,
                             std::vector<ManifestDocument>& to, std::vector<std::string>& warnings);

}  // namespace berth
