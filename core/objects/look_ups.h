// Questions about all objects of a kind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/objects/objects.h"

namespace berth {

// By name; also the two that Kubernetes has without anybody applying them, unless one of that name was applied
// (pkg/apis/scheduling/v1/helpers.go SystemPriorityClasses). Null when there is none.
std::shared_ptr<const PriorityClass> find_priority_class(const Objects& objects, const std::string& name);
// The one marked globalDefault with the highest value; null when there is none.
std::shared_ptr<const PriorityClass> default_priority_class(const Objects& objects);
// Of those that an annotation makes the default the newest, as far as they say how old they are, then the first by
// name (pkg/volume/util GetDefaultClass); null when there is none.
std::shared_ptr<const StorageClass> default_storage_class(const Objects& objects);
// The pods that mount the claim and are not finished. Valid until one of them changes.
std::vector<const Pod*> pods_using(const Objects& objects, const std::string& claim_key);
// Why Secrets of the store cannot be read; empty: all can.
std::string locked_secrets(const Objects& objects);

}  // namespace berth
