// RegistryKeyring: the credentials in a pod's imagePullSecrets, and which of them a registry is offered for an image,
// as the kubelet's keyring does it (pkg/credentialprovider/keyring.go, BasicDockerKeyring).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/images/image_reference.h"

namespace berth {

struct Credential {
  std::string username;
  std::string password;
  bool operator==(const Credential&) const = default;
};

class RegistryKeyring {
 public:
  // The values of one Secret, by key: `.dockerconfigjson` ({"auths": {PLACE: {username, password} or {auth}}}), or else
  // `.dockercfg` (without "auths"). Others are left out. A place is a host, with a port and a path if there are any, as
  // in "*.example.com:5000/team". The error names the key, and shows none of its contents; nothing was added then.
  Status add(const std::map<std::string, std::string>& secret);
  // To be tried in this order; empty: it is asked for without any.
  std::vector<Credential> find(const ImageReference& image) const;

 private:
  std::map<std::string, std::vector<Credential>, std::greater<>> credentials_;  // by place, the longest of a host first
};

// What the file of containers-auth.json(5) at `path` has for the image, that of the longest place first; none: nothing.
// An error, without any of its contents: it cannot be read, or has what only skopeo can use, which is a helper for this
// registry (credHelpers) or an identity token.
Result<std::optional<Credential>> credential_of_file(const std::string& path, const ImageReference& image);

// A containers-auth.json(5) with this credential for the registry.
std::string auth_file_text(const std::string& registry, const Credential& credential);

}  // namespace berth
