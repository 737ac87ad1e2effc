// Features: what a pod asks of the runtime that runs it, in the names by which a device says what its runtime can do
// (`features` of nodes/<n>/state, status.declaredFeatures of the Node, as upstream's NodeDeclaredFeatures). needs_of()
// is the one place that reads this from a manifest: the gateway filters nodes by it, the agent refuses by it.
//
// The names (transports/README.md, "Features", lists them):
//   secrets configMaps                          env and envFrom
//   volumes/<source>                            spec.volumes, by the member: volumes/hostPath, volumes/secret
//   fieldRefs/<path>                            env from a field that only the device knows: fieldRefs/status.podIP
//   runtimeClass/<name>                         spec.runtimeClassName
//   images                                      a container that names an image, or neither an image nor a command
//   probes lifecycle limits securityContext readOnlyMounts subPathExprs volumeDevices resourceFieldRefs
//   activeDeadline hostAliases dnsConfig emptyDirMedium emptyDirSizeLimit containerRestartPolicies
//                                               the field of that name, unless it is empty
//   grpcProbes                                  a probe by grpc (besides `probes`)
//   httpsHandlers                               httpGet of a probe or hook with scheme: HTTPS
//   handlerHostNames                            httpGet.host or tcpSocket.host that is a name, which must be resolved
//   stopSignals                                 lifecycle.stopSignal
//   userNamespaces                              hostUsers: false
//   processes/<feature>                         each of these, runtimeClass/<name> excepted, of a pod that runs as
//                                               processes everywhere (is_for_processes), as devices have other means
//                                               for processes than for containers
//   processes/<field>                           of such a pod alone, as any container can have it and no device has it
//                                               for processes: image, and of its securityContext a seccompProfile
//                                               other than Unconfined, sysctls, procMount other than Default,
//                                               allowPrivilegeEscalation: true
// A device that names no feature of processes is of before there were any: what it names holds for whatever it runs.
// A name never changes its meaning. What an older device does without naming it gets no name: such a device would be
// taken for one that cannot.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace berth {

// Something that a pod asks for.
struct Need {
  std::string feature;
  std::string field;  // the first that asks for it: "spec.containers[0].livenessProbe"
  bool operator==(const Need&) const = default;
};

// spec.runtimeClassName that says how the pod is to run.
inline constexpr std::string_view kContainerClass = "container";
inline constexpr std::string_view kProcessClass = "process";

inline constexpr std::size_t kMaxFeatures = 64;       // of a node
inline constexpr std::size_t kMaxFeatureBytes = 128;  // of a name

// Members of spec.volumes[] that name the source of a volume (core/v1 VolumeSource).
inline constexpr std::array<std::string_view, 30> kVolumeSources{"awsElasticBlockStore",
                                                                 "azureDisk",
                                                                 "azureFile",
                                                                 "cephfs",
                                                                 "cinder",
                                                                 "configMap",
                                                                 "csi",
                                                                 "downwardAPI",
                                                                 "emptyDir",
                                                                 "ephemeral",
                                                                 "fc",
                                                                 "flexVolume",
                                                                 "flocker",
                                                                 "gcePersistentDisk",
                                                                 "gitRepo",
                                                                 "glusterfs",
                                                                 "hostPath",
                                                                 "image",
                                                                 "iscsi",
                                                                 "nfs",
                                                                 "persistentVolumeClaim",
                                                                 "photonPersistentDisk",
                                                                 "portworxVolume",
                                                                 "projected",
                                                                 "quobyte",
                                                                 "rbd",
                                                                 "scaleIO",
                                                                 "secret",
                                                                 "storageos",
                                                                 "vsphereVolume"};

// Letters, digits, '-', '.', '_' and '/', at most kMaxFeatureBytes.
bool is_feature_name(std::string_view name);
// One of kVolumeSources.
bool is_volume_source(std::string_view member);
// A host of a probe or hook that asks for no resolver: empty, "localhost", or the text of an address.
bool is_plain_host(std::string_view host);
// What any device can put into the environment by valueFrom.fieldRef.fieldPath.
bool is_plain_field(std::string_view path);
// What only some can.
bool is_device_field(std::string_view path);
// Some container's image is one. An absolute path is none, but a program of the device.
bool names_image(const Json& spec);
// It runs as processes, also on a device that runs containers.
bool is_for_processes(const Json& spec);
// Of a pod's manifest, each feature once, in the order of the fields. Fields of the wrong type ask for nothing.
std::vector<Need> needs_of(const Json& pod);
// The name of a feature for processes: "processes/limits".
std::string of_processes(std::string_view feature);
// Those that are not among the node's sorted features.
std::vector<Need> missing_of(const std::vector<Need>& needs, const std::vector<std::string>& features);
// "spec.containers[0].livenessProbe (feature probes)", and what to do about it where that is not plain.
std::string to_text(const Need& need);

}  // namespace berth
