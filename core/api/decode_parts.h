// Helpers shared by the decoders of several kinds and of the configuration.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/api/decode.h"
#include "core/api/fields.h"
#include "core/api/kind.h"
#include "core/api/manifest.h"
#include "core/api/metadata.h"
#include "core/api/names.h"
#include "core/api/selector.h"
#include "core/api/taint.h"
#include "core/json/field_reader.h"

namespace berth {

struct DiskSource;
struct IntOrPercent;
struct Pod;
struct PreferredNodeTerm;
struct TopologySpreadConstraint;

}  // namespace berth

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
    EnumName<TaintEffect>{"NoSchedule", TaintEffect::no_schedule},
    EnumName<TaintEffect>{"PreferNoSchedule", TaintEffect::prefer_no_schedule},
    EnumName<TaintEffect>{"NoExecute", TaintEffect::no_execute},
};

// apiVersion and kind, checked if present, and metadata.
void read_head(FieldReader& reader, Kind kind, ObjectMeta& out);

// metadata. `namespaced`: whether objects of the kind have a namespace; "default" when it is absent.
void read_metadata(FieldReader& reader, bool namespaced, ObjectMeta& out);

// "2" as a number, or "50%" as text (policy validation: not negative). More than 100% is for the
// caller to judge.
void read_int_or_percent(FieldReader& reader, std::string_view key, std::optional<IntOrPercent>& out);

// A map of labels, with keys and values validated.
void read_labels(FieldReader& reader, std::string_view key, Labels& out);

// One item of spec.taints; an error if `before` has one with the same key and effect.
void read_taint(FieldReader& reader, const std::vector<Taint>& before, Taint& out);

// One item of spec.tolerations of a pod.
void read_toleration(FieldReader& reader, Toleration& out);

// spec.affinity of a pod.
void read_affinity(FieldReader& reader, Pod& pod);

// One item of spec.topologySpreadConstraints; an error if `before` has one with the same key and whenUnsatisfiable.
void read_spread_constraint(FieldReader& reader, const std::vector<TopologySpreadConstraint>& before,
                            TopologySpreadConstraint& out);

// Reads the volume sources that scheduling depends on, of a pod's volume or a PersistentVolume; the last one is in
// `out`.
void read_disk_sources(FieldReader& reader, DiskSource& out);

// Breaks a rule where no device could run the pod: a mount of an unknown volume, a variable that cannot be set.
void check_runnable(const Json& pod, Findings& findings);

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

// The last step of every decoder: the object with its manifest, or the errors, unknown fields among them. Appends to
// `warnings` unless null.
template <class T>
Result<T> conclude(Kind kind, T object, const Json& manifest, Findings& findings, Warnings* warnings) {
  constexpr bool kKeepsUnknown = std::is_same_v<T, Pod>;
  if (kKeepsUnknown || warnings != nullptr || findings.refuses_unknown()) check_fields(kind, manifest, findings);
  if (warnings != nullptr) {
    for (std::string& text : findings.warnings()) warnings->push_back(std::move(text));
  }
  if (findings.has_errors()) return findings.status();
  if constexpr (kKeepsUnknown) {
    object.spec.edit().has_unknown_fields = findings.has_unknown();
    object.set_manifest(Manifest(manifest).text());
  } else {
    object.manifest = manifest;
  }
  return object;
}

}  // namespace berth::decode
