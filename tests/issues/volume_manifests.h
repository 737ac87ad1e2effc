// Manifests of a storage class, a claim "c" and volumes, shared by the tests about volumes.
#pragma once

#include <string>

namespace berth {

inline constexpr char kStorageClass[] =
    R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},)"
    R"("provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})";
inline constexpr char kMountsClaim[] = R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])";
inline constexpr char kOffersVolume[] =
    R"(,"volumes":[{"name":"d","path":"/d","capacity":"1Gi","storageClass":"local"}])";

inline std::string claim(const std::string& more_spec = "", const std::string& more = "") {
  return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default"},)"
         R"("spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":)"
         R"({"storage":"1Mi"}})" +
         more_spec + "}" + more + "}";
}

// A volume that a provisioner created for claim "c".
inline std::string made_volume(const std::string& name, const std::string& node) {
  return R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")" + name +
         R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"local",)"
         R"("claimRef":{"namespace":"default","name":"c"},"local":{"path":"/)" +
         name +
         R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":)"
         R"("kubernetes.io/hostname","operator":"In","values":[")" +
         node + R"("]}]}]}}}})";
}

}  // namespace berth
