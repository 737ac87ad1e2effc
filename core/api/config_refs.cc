#include "core/api/config_refs.h"

#include <algorithm>
#include <array>

#include "core/api/names.h"
#include "core/json/members.h"

namespace berth {

namespace {

class Collector {
 public:
  void add(Kind kind, const Json& from, std::string_view member_name) {
    const std::string name = from.string_at(member_name);
    if (is_valid_name(name)) names_.push_back({kind, name});
  }
  // "configMap" and "secret" of a volume, or of a source of a projected one.
  void add_sources(const Json& volume, std::string_view secret_member) {
    add(Kind::config_map, member(volume, "configMap"), "name");
    add(Kind::secret, member(volume, "secret"), secret_member);
  }
  void add_container(const Json& container) {
    for (const Json& variable : list_of(container, "env")) {
      const Json& source = member(variable, "valueFrom");
      add(Kind::config_map, member(source, "configMapKeyRef"), "name");
      add(Kind::secret, member(source, "secretKeyRef"), "name");
    }
    for (const Json& source : list_of(container, "envFrom")) {
      add(Kind::config_map, member(source, "configMapRef"), "name");
      add(Kind::secret, member(source, "secretRef"), "name");
    }
  }
  std::vector<ConfigName> take() {
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    return std::move(names_);
  }

 private:
  std::vector<ConfigName> names_;
};

}  // namespace

std::vector<ConfigName> config_names_of(const Json& pod) {
  const Json& spec = member(pod, "spec");
  Collector names;
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& container : list_of(spec, list)) names.add_container(container);
  }
  for (const Json& volume : list_of(spec, "volumes")) {
    names.add_sources(volume, "secretName");
    for (const Json& source : list_of(member(volume, "projected"), "sources")) names.add_sources(source, "name");
  }
  for (const Json& secret : list_of(spec, "imagePullSecrets")) names.add(Kind::secret, secret, "name");
  return names.take();
}

bool may_have_config_names(std::string_view pod) {
  static constexpr std::array<std::string_view, 4> kMembers{"\"configMap", "\"secret", "\"projected\"",
                                                            "\"imagePullSecrets\""};
  return std::any_of(kMembers.begin(), kMembers.end(),
                     [pod](std::string_view each) { return pod.find(each) != std::string_view::npos; });
}

}  // namespace berth
