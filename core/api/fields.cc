#include "core/api/fields.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/did_you_mean.h"

namespace berth {
namespace {

// The types of Kubernetes 1.36 (apps/v1, core/v1, policy/v1, scheduling/v1, storage/v1, meta/v1), sorted: the name,
// then its fields, each with its type where that has fields of its own, in lists as well. +Type: all fields of that one
// too. Further fields: those that older versions had, and what Berth shows in a status, so that what `get` shows can be
// applied again; what devices say of their containers is not looked into. Types that a pod's volume and a
// PersistentVolume have under one name are held once, with the fields of both. One text, since a table of pointers
// would be relocated at each start.
constexpr std::string_view kTypes = R"(AWSElasticBlockStore fsType partition readOnly volumeID
Affinity nodeAffinity=NodeAffinity podAffinity=PodAffinity podAntiAffinity=PodAffinity
AppArmorProfile localhostProfile type
AttachedVolume devicePath name
AzureDisk cachingMode diskName diskURI fsType kind readOnly
AzureFile readOnly secretName secretNamespace shareName
CSI controllerExpandSecretRef=SecretReference controllerPublishSecretRef=SecretReference driver fsType
  nodeExpandSecretRef=SecretReference nodePublishSecretRef=SecretReference nodeStageSecretRef=SecretReference readOnly
  volumeAttributes volumeHandle
CSIDriver +Object spec=CSIDriverSpec status=Shown
CSIDriverSpec attachRequired fsGroupPolicy nodeAllocatableUpdatePeriodSeconds podInfoOnMount
  preventPodSchedulingIfMissing requiresRepublish seLinuxMount serviceAccountTokenInSecrets storageCapacity
  tokenRequests=TokenRequest volumeLifecycleModes
CSINode +Object spec=CSINodeSpec status=Shown
CSINodeDriver allocatable=VolumeNodeResources name nodeID topologyKeys
CSINodeSpec drivers=CSINodeDriver
CSIStorageCapacity +Object capacity maximumVolumeSize nodeTopology=LabelSelector status=Shown storageClassName
Capabilities add drop
CephFS monitors path readOnly secretFile secretRef=SecretReference user
Cinder fsType readOnly secretRef=SecretReference volumeID
ClaimReference claimName readOnly
ClientIPConfig timeoutSeconds
ClusterTrustBundleProjection labelSelector=LabelSelector name optional path signerName
Condition lastHeartbeatTime lastProbeTime lastTransitionTime lastUpdateTime message observedGeneration reason status type
ConfigMap +Object binaryData data immutable status=Shown
ConfigMapNodeConfigSource kubeletConfigKey name namespace resourceVersion uid
ConfigMapProjection items=KeyToPath name optional
ConfigMapVolume defaultMode items=KeyToPath name optional
Container args command env=EnvVar envFrom=EnvFromSource image imagePullPolicy lifecycle=Lifecycle livenessProbe=Probe
  name ports=ContainerPort readinessProbe=Probe resizePolicy=ContainerResizePolicy resources=ResourceRequirements
  restartPolicy restartPolicyRules=ContainerRestartRule securityContext=SecurityContext startupProbe=Probe stdin
  stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices=VolumeDevice volumeMounts=VolumeMount
  workingDir
ContainerExtendedResourceRequest containerName requestName resourceName
ContainerImage names sizeBytes
ContainerPort containerPort hostIP hostPort name protocol
ContainerResizePolicy resourceName restartPolicy
ContainerRestartRule action exitCodes=ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes operator values
ControllerRevision +Object data revision status=Shown
CronJob +Object spec=CronJobSpec status=CronJobStatus
CronJobSpec concurrencyPolicy failedJobsHistoryLimit jobTemplate=JobTemplateSpec schedule startingDeadlineSeconds
  successfulJobsHistoryLimit suspend timeZone
CronJobStatus active=ObjectReference lastScheduleTime lastSuccessfulTime
DaemonEndpoint Port
DaemonSet +Object spec=DaemonSetSpec status=DaemonSetStatus
DaemonSetSpec minReadySeconds revisionHistoryLimit selector=LabelSelector template=PodTemplateSpec
  updateStrategy=UpdateStrategy
DaemonSetStatus collisionCount conditions=Condition currentNumberScheduled desiredNumberScheduled numberAvailable
  numberMisscheduled numberReady numberUnavailable observedGeneration updatedNumberScheduled
Deployment +Object spec=DeploymentSpec status=DeploymentStatus
DeploymentSpec minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit selector=LabelSelector
  strategy=UpdateStrategy template=PodTemplateSpec
DeploymentStatus availableReplicas collisionCount conditions=Condition observedGeneration readyReplicas replicas
  terminatingReplicas unavailableReplicas updatedReplicas
Disks awsElasticBlockStore=AWSElasticBlockStore azureDisk=AzureDisk azureFile=AzureFile cephfs=CephFS cinder=Cinder
  csi=CSI fc=FC flexVolume=Flex flocker=Flocker gcePersistentDisk=GCEPersistentDisk glusterfs=Glusterfs
  hostPath=HostPath iscsi=ISCSI nfs=NFS photonPersistentDisk=PhotonPersistentDisk portworxVolume=Portworx
  quobyte=Quobyte rbd=RBD scaleIO=ScaleIO storageos=StorageOS vsphereVolume=VsphereVirtualDisk
DownwardAPI defaultMode items=DownwardAPIVolumeFile
DownwardAPIVolumeFile fieldRef=ObjectFieldSelector mode path resourceFieldRef=ResourceFieldSelector
EmptyDir medium sizeLimit
EnvFromSource configMapRef=EnvReference prefix secretRef=EnvReference
EnvReference name optional
EnvVar name value valueFrom=EnvVarSource
EnvVarSource configMapKeyRef=KeySelector fieldRef=ObjectFieldSelector fileKeyRef=FileKeySelector
  resourceFieldRef=ResourceFieldSelector secretKeyRef=KeySelector
Ephemeral volumeClaimTemplate=PersistentVolumeClaimTemplate
EphemeralContainer +Container targetContainerName
ExecAction command
FC fsType lun readOnly targetWWNs wwids
FileKeySelector key optional path volumeName
Flex driver fsType options readOnly secretRef=SecretReference
Flocker datasetName datasetUUID
GCEPersistentDisk fsType partition pdName readOnly
GRPCAction port service
GitRepo directory repository revision
Glusterfs endpoints endpointsNamespace path readOnly
HTTPGetAction host httpHeaders=NameValue path port scheme
HostAlias hostnames ip
HostPath path type
ISCSI chapAuthDiscovery chapAuthSession fsType initiatorName iqn iscsiInterface lun portals readOnly
  secretRef=SecretReference targetPortal
Image pullPolicy reference
Ip ip
Job +Object spec=JobSpec status=JobStatus
JobSpec activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector
  maxFailedIndexes parallelism podFailurePolicy=PodFailurePolicy podReplacementPolicy selector=LabelSelector
  successPolicy=SuccessPolicy suspend template=PodTemplateSpec ttlSecondsAfterFinished
JobStatus active completedIndexes completionTime conditions=Condition failed failedIndexes ready startTime succeeded
  terminating uncountedTerminatedPods=UncountedTerminatedPods
JobTemplateSpec metadata=ObjectMeta spec=JobSpec
KeySelector key name optional
KeyToPath key mode path
LabelSelector matchExpressions=Requirement matchLabels
Lifecycle postStart=LifecycleHandler preStop=LifecycleHandler stopSignal
LifecycleHandler exec=ExecAction httpGet=HTTPGetAction sleep=SleepAction tcpSocket=TCPSocketAction
LoadBalancerIngress hostname ip ipMode ports=PortStatus
LoadBalancerStatus ingress=LoadBalancerIngress
Local fsType path
ManagedFieldsEntry apiVersion fieldsType fieldsV1 manager operation subresource time
ModifyVolumeStatus status targetVolumeAttributesClassName
NFS path readOnly server
Name name
NameValue name value
Namespace +Object spec=NamespaceSpec status=NamespaceStatus
NamespaceSpec finalizers
NamespaceStatus conditions=Condition phase
Node +Object spec=NodeSpec status=NodeStatus
NodeAddress address type
NodeAffinity preferredDuringSchedulingIgnoredDuringExecution=PreferredSchedulingTerm
  requiredDuringSchedulingIgnoredDuringExecution=NodeSelector
NodeAllocatableResourceClaimStatus containers resourceClaimName resources
NodeConfigSource configMap=ConfigMapNodeConfigSource
NodeConfigStatus active=NodeConfigSource assigned=NodeConfigSource error lastKnownGood=NodeConfigSource
NodeDaemonEndpoints kubeletEndpoint=DaemonEndpoint
NodeFeatures supplementalGroupsPolicy
NodeRuntimeHandler features=NodeRuntimeHandlerFeatures name
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts userNamespaces
NodeSelector nodeSelectorTerms=NodeSelectorTerm
NodeSelectorTerm matchExpressions=Requirement matchFields=Requirement
NodeSpec configSource=NodeConfigSource externalID podCIDR podCIDRs providerID taints=Taint unschedulable
NodeStatus addresses=NodeAddress allocatable capacity conditions=Condition config=NodeConfigStatus
  daemonEndpoints=NodeDaemonEndpoints declaredFeatures features=NodeFeatures images=ContainerImage incarnation
  nodeInfo=NodeSystemInfo phase runtimeHandlers=NodeRuntimeHandler volumePools=VolumePool volumesAttached=AttachedVolume
  volumesInUse
NodeSwapStatus capacity
NodeSystemInfo architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID
  operatingSystem osImage swap=NodeSwapStatus systemUUID
Object apiVersion kind metadata=ObjectMeta
ObjectFieldSelector apiVersion fieldPath
ObjectMeta annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName
  generation labels managedFields=ManagedFieldsEntry name namespace ownerReferences=OwnerReference resourceVersion
  selfLink uid
ObjectReference apiVersion fieldPath kind name namespace resourceVersion uid
OwnerReference apiVersion blockOwnerDeletion controller kind name uid
PersistentVolume +Object spec=PersistentVolumeSpec status=PersistentVolumeStatus
PersistentVolumeClaim +Object spec=PersistentVolumeClaimSpec status=PersistentVolumeClaimStatus
PersistentVolumeClaimRetention whenDeleted whenScaled
PersistentVolumeClaimSpec accessModes dataSource=TypedLocalObjectReference dataSourceRef=TypedObjectReference
  resources=VolumeResources selector=LabelSelector storageClassName volumeAttributesClassName volumeMode volumeName
PersistentVolumeClaimStatus accessModes allocatedResourceStatuses allocatedResources capacity conditions=Condition
  currentVolumeAttributesClassName deleting modifyVolumeStatus=ModifyVolumeStatus phase
PersistentVolumeClaimTemplate metadata=ObjectMeta spec=PersistentVolumeClaimSpec
PersistentVolumeSpec +Disks accessModes capacity claimRef=ObjectReference local=Local mountOptions
  nodeAffinity=VolumeNodeAffinity persistentVolumeReclaimPolicy storageClassName volumeAttributesClassName volumeMode
PersistentVolumeStatus conditions=Condition deleting lastPhaseTransitionTime message phase reason
PhotonPersistentDisk fsType pdID
Pod +Object spec=PodSpec status=PodStatus
PodAffinity preferredDuringSchedulingIgnoredDuringExecution=WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution=PodAffinityTerm
PodAffinityTerm labelSelector=LabelSelector matchLabelKeys mismatchLabelKeys namespaceSelector=LabelSelector
  namespaces topologyKey
PodCertificateProjection certificateChainPath credentialBundlePath keyPath keyType maxExpirationSeconds signerName
  userAnnotations
PodDNSConfig nameservers options=NameValue searches
PodDisruptionBudget +Object spec=PodDisruptionBudgetSpec status=PodDisruptionBudgetStatus
PodDisruptionBudgetSpec maxUnavailable minAvailable selector=LabelSelector unhealthyPodEvictionPolicy
PodDisruptionBudgetStatus conditions=Condition currentHealthy desiredHealthy disruptedPods disruptionsAllowed
  expectedPods observedGeneration
PodExtendedResourceClaimStatus requestMappings=ContainerExtendedResourceRequest resourceClaimName
PodFailurePolicy rules=PodFailurePolicyRule
PodFailurePolicyOnExitCodes containerName operator values
PodFailurePolicyOnPodConditions status type
PodFailurePolicyRule action onExitCodes=PodFailurePolicyOnExitCodes onPodConditions=PodFailurePolicyOnPodConditions
PodReadinessGate conditionType
PodResourceClaim name resourceClaimName resourceClaimTemplateName
PodResourceClaimStatus name resourceClaimName
PodSchedulingGroup podGroupName
PodSecurityContext appArmorProfile=AppArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser
  seLinuxChangePolicy seLinuxOptions=SELinuxOptions seccompProfile=SeccompProfile supplementalGroups
  supplementalGroupsPolicy sysctls=NameValue windowsOptions=WindowsSecurityContextOptions
PodSpec activeDeadlineSeconds affinity=Affinity automountServiceAccountToken containers=Container
  dnsConfig=PodDNSConfig dnsPolicy enableServiceLinks ephemeralContainers=EphemeralContainer hostAliases=HostAlias
  hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets=Name initContainers=Container
  nodeName nodeSelector os=Name overhead preemptionPolicy priority priorityClassName readinessGates=PodReadinessGate
  resourceClaims=PodResourceClaim resources=ResourceRequirements restartPolicy runtimeClassName schedulerName
  schedulingGates=Name schedulingGroup=PodSchedulingGroup securityContext=PodSecurityContext serviceAccount
  serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds
  tolerations=Toleration topologySpreadConstraints=TopologySpreadConstraint volumes=Volume
  workloadRef=WorkloadReference
PodStatus allocatedResources conditions=Condition containerStatuses deleting ephemeralContainerStatuses
  extendedResourceClaimStatus=PodExtendedResourceClaimStatus hostIP hostIPs=Ip initContainerStatuses message
  nodeAllocatableResourceClaimStatuses=NodeAllocatableResourceClaimStatus nodeName nominatedNodeName
  observedGeneration phase podIP podIPs=Ip qosClass reason resize resourceClaimStatuses=PodResourceClaimStatus
  resources=ResourceRequirements scheduler startTime uid
PodTemplateSpec metadata=ObjectMeta spec=PodSpec
PortStatus error port protocol
Portworx fsType readOnly volumeID
PreferredSchedulingTerm preference=NodeSelectorTerm weight
PriorityClass +Object description globalDefault preemptionPolicy status=Shown value
Probe exec=ExecAction failureThreshold grpc=GRPCAction httpGet=HTTPGetAction initialDelaySeconds periodSeconds
  successThreshold tcpSocket=TCPSocketAction terminationGracePeriodSeconds timeoutSeconds
Projected defaultMode sources=VolumeProjection
Quobyte group readOnly registry tenant user volume
RBD fsType image keyring monitors pool readOnly secretRef=SecretReference user
ReplicaSet +Object spec=ReplicaSetSpec status=ReplicaSetStatus
ReplicaSetSpec minReadySeconds replicas selector=LabelSelector template=PodTemplateSpec
ReplicaSetStatus availableReplicas conditions=Condition fullyLabeledReplicas observedGeneration readyReplicas replicas
  terminatingReplicas
ReplicationController +Object spec=ReplicationControllerSpec status=ReplicaSetStatus
ReplicationControllerSpec minReadySeconds replicas selector template=PodTemplateSpec
Requirement key operator values
ResourceClaim name request
ResourceFieldSelector containerName divisor resource
ResourceRequirements claims=ResourceClaim limits requests
RollingUpdate maxSurge maxUnavailable partition
SELinuxOptions level role type user
ScaleIO fsType gateway protectionDomain readOnly secretRef=SecretReference sslEnabled storageMode storagePool system
  volumeName
SeccompProfile localhostProfile type
Secret +Object data immutable status=Shown stringData type
SecretProjection items=KeyToPath name optional
SecretReference name namespace
SecretVolume defaultMode items=KeyToPath optional secretName
SecurityContext allowPrivilegeEscalation appArmorProfile=AppArmorProfile capabilities=Capabilities privileged
  procMount readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions=SELinuxOptions
  seccompProfile=SeccompProfile windowsOptions=WindowsSecurityContextOptions
Service +Object spec=ServiceSpec status=ServiceStatus
ServiceAccountTokenProjection audience expirationSeconds path
ServicePort appProtocol name nodePort port protocol targetPort
ServiceSpec allocateLoadBalancerNodePorts clusterIP clusterIPs externalIPs externalName externalTrafficPolicy
  healthCheckNodePort internalTrafficPolicy ipFamilies ipFamilyPolicy loadBalancerClass loadBalancerIP
  loadBalancerSourceRanges ports=ServicePort publishNotReadyAddresses selector sessionAffinity
  sessionAffinityConfig=SessionAffinityConfig trafficDistribution type
ServiceStatus conditions=Condition loadBalancer=LoadBalancerStatus
SessionAffinityConfig clientIP=ClientIPConfig
Shown conditions=Condition
SleepAction seconds
StatefulSet +Object spec=StatefulSetSpec status=StatefulSetStatus
StatefulSetOrdinals start
StatefulSetSpec minReadySeconds ordinals=StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy=PersistentVolumeClaimRetention podManagementPolicy replicas revisionHistoryLimit
  selector=LabelSelector serviceName template=PodTemplateSpec updateStrategy=UpdateStrategy
  volumeClaimTemplates=PersistentVolumeClaim
StatefulSetStatus availableReplicas collisionCount conditions=Condition currentReplicas currentRevision
  observedGeneration readyReplicas replicas updateRevision updatedReplicas
StorageClass +Object allowVolumeExpansion allowedTopologies=TopologySelectorTerm mountOptions parameters provisioner
  reclaimPolicy status=Shown volumeBindingMode
StorageOS fsType readOnly secretRef=ObjectReference volumeName volumeNamespace
SuccessPolicy rules=SuccessPolicyRule
SuccessPolicyRule succeededCount succeededIndexes
TCPSocketAction host port
Taint effect key timeAdded value
TokenRequest audience expirationSeconds
Toleration effect key operator tolerationSeconds value
TopologyRequirement key values
TopologySelectorTerm matchLabelExpressions=TopologyRequirement
TopologySpreadConstraint labelSelector=LabelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy
  nodeTaintsPolicy topologyKey whenUnsatisfiable
TypedLocalObjectReference apiGroup kind name
TypedObjectReference apiGroup kind name namespace
UncountedTerminatedPods failed succeeded
UpdateStrategy rollingUpdate=RollingUpdate type
Volume +Disks configMap=ConfigMapVolume downwardAPI=DownwardAPI emptyDir=EmptyDir ephemeral=Ephemeral gitRepo=GitRepo
  image=Image name persistentVolumeClaim=ClaimReference projected=Projected secret=SecretVolume
VolumeDevice devicePath name
VolumeMount mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr
VolumeNodeAffinity required=NodeSelector
VolumeNodeResources count
VolumePool capacity class limited root
VolumeProjection clusterTrustBundle=ClusterTrustBundleProjection configMap=ConfigMapProjection downwardAPI=DownwardAPI
  podCertificate=PodCertificateProjection secret=SecretProjection serviceAccountToken=ServiceAccountTokenProjection
VolumeResources limits requests
VsphereVirtualDisk fsType storagePolicyID storagePolicyName volumePath
WeightedPodAffinityTerm podAffinityTerm=PodAffinityTerm weight
WindowsSecurityContextOptions gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName
WorkloadReference name podGroup podGroupReplicaKey
)";

constexpr std::size_t kTypesCount = 203;

constexpr std::string_view word_at(std::size_t start) {
  return kTypes.substr(start, kTypes.find_first_of(" \n", start) - start);
}

// Where each type starts in the text.
constexpr std::array<std::uint16_t, kTypesCount> kStarts = [] {
  std::array<std::uint16_t, kTypesCount> starts{};
  std::size_t count = 0;
  for (std::size_t at = 0; at < kTypes.size(); ++at) {
    if (kTypes[at] != ' ' && (at == 0 || kTypes[at - 1] == '\n')) starts[count++] = static_cast<std::uint16_t>(at);
  }
  return starts;
}();
static_assert(kStarts.back() != 0 &&
              std::is_sorted(kStarts.begin(), kStarts.end(), [](auto a, auto b) { return word_at(a) < word_at(b); }));

// The fields of a type, as they stand in the text: " +Object spec=PodSpec status=PodStatus\n".
std::string_view fields_of(std::string_view type) {
  // A space sorts before what names consist of, so a name that goes on counts as later.
  const auto start = std::lower_bound(kStarts.begin(), kStarts.end(), type, [](std::size_t at, std::string_view name) {
    return kTypes.compare(at, name.size(), name) < 0;
  });
  const std::size_t from = *start + type.size();
  return kTypes.substr(from, (start + 1 == kStarts.end() ? kTypes.size() : *(start + 1)) - from);
}

// Takes the first field, or type that is included, from the text; empty at its end.
std::string_view take_word(std::string_view& fields) {
  fields.remove_prefix(std::min(fields.find_first_not_of(" \n"), fields.size()));
  const std::string_view word = fields.substr(0, fields.find_first_of(" \n"));
  fields.remove_prefix(word.size());
  return word;
}

// The type of that field, empty if it has no fields; nothing if the type has no such field.
std::optional<std::string_view> find_field(std::string_view type, std::string_view name) {
  if (name.empty() || name.find_first_of(" =\n") != std::string_view::npos) return {};
  std::string_view fields = fields_of(type);
  while (fields.starts_with(" +")) {
    if (const auto found = find_field(take_word(fields).substr(1), name)) return found;
  }
  for (std::size_t at = fields.find(name); at != std::string_view::npos; at = fields.find(name, at + 1)) {
    const char after = fields[at + name.size()];  // the text ends with a new line
    if (fields[at - 1] != ' ') continue;          // the text starts with a space
    if (after == ' ' || after == '\n') return "";
    if (after != '=') continue;
    fields.remove_prefix(at + name.size() + 1);
    return take_word(fields);
  }
  return {};
}

void append_names(std::string_view type, std::vector<std::string_view>& names) {
  std::string_view fields = fields_of(type);
  for (std::string_view word = take_word(fields); !word.empty(); word = take_word(fields)) {
    if (word[0] == '+') {
      append_names(word.substr(1), names);
    } else {
      names.push_back(word.substr(0, word.find('=')));
    }
  }
}

// Where in the document: a member of an object, or an item of the list `of`.
struct Place {
  const Place* of;
  std::string_view key;
  std::size_t index = 0;
  bool is_item = false;
};

std::string path_of(const Place* place) {
  if (place == nullptr) return {};
  const std::string path = path_of(place->of);
  return place->is_item ? item_path(path, place->index) : member_path(path, place->key);
}

void check(std::string_view type, const Json& value, const Place* place, Findings& findings) {
  if (value.is_array()) {
    const Json::Array& items = value.as_array();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Place item{place, {}, i, true};
      if (items[i].is_object()) check(type, items[i], &item, findings);
    }
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.as_object()) {
    const Place here{place, key};
    if (const auto inner = find_field(type, key)) {
      if (!inner->empty()) check(*inner, member, &here, findings);
      continue;
    }
    std::vector<std::string_view> names;
    append_names(type, names);
    findings.unknown(path_of(&here), did_you_mean(key, names));
  }
}

}  // namespace

void check_fields(Kind kind, const Json& object, Findings& findings) {
  check(describe(kind).name, object, nullptr, findings);
}

}  // namespace berth
