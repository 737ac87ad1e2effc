// The manifests of PersistentVolumes that are directories of a device: offered by it, or made for a claim.
#pragma once

#include <string>

#include "core/json/json.h"

namespace berth {

struct PersistentVolume;

struct LocalVolumeManifest {
  std::string name, node;
  std::string storage_class, path;
  std::string capacity;  // a quantity
  std::string reclaim_policy;
  Json access_modes;  // an array
  Json annotations;   // an object
};

// On that node alone, by its host name.
Json manifest_of(LocalVolumeManifest volume);

// The node whose device made the volume below one of its pools; empty: no device did.
std::string maker_of(const PersistentVolume& volume);

}  // namespace berth
