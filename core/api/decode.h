// Parts that the decoders of several kinds share, and the configuration with them.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "core/api/names.h"
#include "core/api/objects.h"
#include "core/json/field_reader.h"

namespace berth::decode {

inline constexpr std::string_view kNameForm =
    "a name of lower-case letters, digits, '-' and '.', at most 253, alphanumeric at both ends";
inline constexpr std::string_view kDnsLabelForm =
    "a name of lower-case letters, digits and '-', at most 63, alphanumeric at both ends";
inline constexpr std::string_view kLabelKeyForm =
    "a label key: [dns-prefix/]name, the name of letters, digits, '-', '_' and '.', at most 63, alphanumeric at both "
    "ends";
inline constexpr std::string_view kLabelValueForm =
    "a label value: letters, digits, '-', '_' and '.', at most 63, alphanumeric at both ends, or empty";

inline constexpr std::array kTaintEffects{
    Word<TaintEffect>{"NoSchedule", TaintEffect::no_schedule},
    Word<TaintEffect>{"PreferNoSchedule", TaintEffect::prefer_no_schedule},
    Word<TaintEffect>{"NoExecute", TaintEffect::no_execute},
};

// apiVersion and kind, right when present, and metadata.
void read_head(FieldReader& reader, Kind kind, ObjectMeta& out);

// A map of labels, keys and values checked.
void read_labels(FieldReader& reader, std::string_view key, Labels& out);

// One item of spec.taints; an error when it repeats a key and effect of `before`.
void read_taint(FieldReader& reader, const std::vector<Taint>& before, Taint& out);

// spec.affinity of a pod.
void read_affinity(FieldReader& reader, Pod& pod);

// One item of spec.topologySpreadConstraints; an error when it repeats a key and whenUnsatisfiable of `before`.
void read_spread_constraint(FieldReader& reader, const std::vector<TopologySpreadConstraint>& before,
                            TopologySpreadConstraint& out);

// The sources of a volume that the scheduler looks into, of a pod's volume or of a PersistentVolume: each is named by
// its field. Gives how many there are; the last one is `out`.
int read_disk_sources(FieldReader& reader, DiskSource& out);

// matchLabels and matchExpressions.
void read_label_selector(FieldReader& reader, LabelSelector& out);

// matchExpressions and matchFields.
void read_node_selector_term(FieldReader& reader, NodeSelectorTerm& out);

// nodeSelectorTerms, at least one.
void read_node_selector(FieldReader& reader, NodeSelector& out);

// preferredDuringSchedulingIgnoredDuringExecution of a node affinity.
void read_preferred_node_terms(FieldReader& reader, std::vector<PreferredNodeTerm>& out);

// The access modes of a volume or claim, at least one, and volumeMode.
void read_modes(FieldReader& reader, std::vector<std::string>& access_modes, std::string& volume_mode);

// The end of every decoder: the object with its manifest, or the errors; warnings go to `warnings` unless it is null.
template <class T>
Result<T> conclude(T object, const Json& manifest, const Findings& findings, Warnings* warnings) {
  if (warnings != nullptr) {
    for (std::string& text : findings.warnings()) warnings->push_back(std::move(text));
  }
  if (findings.has_errors()) return findings.status();
  if constexpr (std::is_same_v<T, Pod>) {
    object.set_manifest(Manifest(manifest).text());
  } else {
    object.manifest = manifest;
  }
  return object;
}

}  // namespace berth::decode
