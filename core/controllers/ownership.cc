#include "core/controllers/ownership.h"

#include <algorithm>

namespace berth {

OwnerReference controller_reference(const ControlledObject& owner, std::string_view api_version) {
  return {.api_version = std::string(api_version),
          .kind = std::string(owner.kind),
          .name = owner.metadata.name,
          .uid = owner.metadata.uid,
          .controller = true,
          .block_owner_deletion = true};
}

bool Claim::take(const ControlledObject& object, bool eligible) {
  const bool matching = eligible && matches(selector_, object.metadata.labels.get());
  if (const OwnerReference* controller = controller_of(object.metadata)) {
    if (controller->uid != owner_.metadata.uid) return false;
    if (matching) return true;
    if (!owner_.metadata.deletion) release(object);
    return false;
  }
  if (!matching || owner_.metadata.deletion || object.metadata.deletion) return false;
  return adopt(object);
}

bool Claim::adopt(const ControlledObject& object) {
  std::vector<OwnerReference> owners = object.metadata.owner_references.get();
  owners.push_back(controller_reference(owner_, api_version_));
  return write_owners(object, owners);
}

void Claim::release(const ControlledObject& object) {
  std::vector<OwnerReference> owners = object.metadata.owner_references.get();
  std::erase_if(owners, [&](const OwnerReference& each) { return each.uid == owner_.metadata.uid; });
  write_owners(object, owners);
}

bool Claim::write_owners(const ControlledObject& object, const std::vector<OwnerReference>& owners) {
  Json metadata = Json::object();
  metadata.set("ownerReferences", owners.empty() ? Json() : to_json(owners));
  const WriteResult result = cluster_.patch(object, Json::object().set("metadata", std::move(metadata)));
  if (!result.is_done() && result.code != WriteResult::Code::not_found) status_ = Status::error(result.message);
  return result.is_done();
}

}  // namespace berth
