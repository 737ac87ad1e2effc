// The metadata of an object (apimachinery meta/v1 ObjectMeta), as far as Berth uses it.
#pragma once

#include <map>
#include <string>

#include "core/shared.h"
#include "core/text.h"

namespace berth {

using Labels = std::map<std::string, std::string>;

struct ObjectMeta {
  std::string name;
  Text namespace_;  // empty for kinds without namespace
  Text uid;
  Shared<Labels> labels;
  Shared<Labels> annotations;
  Text controller_uid;    // uid of the ownerReferences entry with controller: true; empty: none
  bool deleting = false;  // metadata.deletionTimestamp is set; last, so that a pod's own fields follow it closely
  // "<namespace>/<name>", or "<name>" for kinds without namespace.
  std::string key() const { return namespace_.empty() ? name : namespace_ + "/" + name; }
};

}  // namespace berth
