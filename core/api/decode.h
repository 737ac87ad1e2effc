// Parts of decoding that several kinds share.
#pragma once

#include <string_view>

#include "core/api/field_reader.h"
#include "core/api/objects.h"

namespace berth::decode {

// apiVersion and kind, when they are there, must be this kind's.
void type_meta(FieldReader& reader, std::string_view api_version, Kind kind);
// metadata: name (required, valid), namespace, uid, labels, annotations.
ObjectMeta metadata(FieldReader& reader, bool namespaced);
std::vector<Requirement> requirements(FieldReader& reader, std::string_view key, bool for_nodes);
NodeSelector node_selector(FieldReader& reader);    // of an object with nodeSelectorTerms
LabelSelector label_selector(FieldReader& reader);  // of an object with matchLabels, matchExpressions
std::vector<Taint> taints(FieldReader& reader, std::string_view key);
std::vector<std::string> access_modes(FieldReader& reader);

// Moves the warnings out and gives the object, or the errors.
template <class T>
Result<T> finish(T object, FieldReader& reader, Findings& findings, Warnings* warnings) {
  reader.finish();
  if (warnings != nullptr) {
    warnings->insert(warnings->end(), findings.warnings.begin(), findings.warnings.end());
  }
  if (Status status = findings.status(); !status.is_success()) return status;
  return object;
}

}  // namespace berth::decode
