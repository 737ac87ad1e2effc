#include "core/controllers/ownership.h"

#include <algorithm>
#include <utility>

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
  const bool matching = eligible && selects(object);
  if (const OwnerReference* controller = controller_of(object.metadata)) {
    if (controller->uid != owner_.metadata.uid) return false;
    if (matching) return true;
    if (!owner_.metadata.deletion) release(object);
    return false;
  }
  if (!matching || owner_.metadata.deletion || object.metadata.deletion) return false;
  return adopt(object);
}

bool Claim::selects(const ControlledObject& object) {
  const Shared<Labels>& labels = object.metadata.labels;
  if (!selects_last_ || &labels.get() != &last_labels_.get()) {
    last_labels_ = labels;
    selects_last_ = matches(selector_, labels.get());
  }
  return *selects_last_;
}

bool Claim::adopt(const ControlledObject& object) {
  std::vector<OwnerReference> owners = object.metadata.owner_references.get();
  owners.push_back(controller_reference(owner_, api_version_));
  std::vector<std::string> finalizers = object.metadata.finalizers.get();
  const bool has_it = std::find(finalizers.begin(), finalizers.end(), finalizer_) != finalizers.end();
  if (!finalizer_.empty() && !has_it) finalizers.emplace_back(finalizer_);
  return write(object, owners, finalizers);
}

void Claim::release(const ControlledObject& object) {
  std::vector<OwnerReference> owners = object.metadata.owner_references.get();
  std::erase_if(owners, [&](const OwnerReference& each) { return each.uid == owner_.metadata.uid; });
  std::vector<std::string> finalizers = object.metadata.finalizers.get();
  std::erase(finalizers, finalizer_);
  write(object, owners, finalizers);
}

bool Claim::write(const ControlledObject& object, const std::vector<OwnerReference>& owners,
                  const std::vector<std::string>& finalizers) {
  Json metadata = Json::object();
  metadata.set("ownerReferences", owners.empty() ? Json() : to_json(owners));
  if (finalizers != object.metadata.finalizers.get()) {
    metadata.set("finalizers", finalizers.empty() ? Json() : to_json(finalizers));
  }
  const WriteResult result = cluster_.patch(object, Json::object().set("metadata", std::move(metadata)));
  if (!result.is_done() && result.code != WriteResult::Code::not_found) status_ = Status::error(result.message);
  return result.is_done();
}

}  // namespace berth
