// KeeperObjects: brings ConfigMaps and Secrets to the keepers of pods. A keeper has those that are there when it is
// forked; later ones come by a file that only memory has (object_file.h), and kObjectsSignal.
#pragma once

#include <map>
#include <string>

#include "core/agent/pod_objects.h"
#include "core/agent/runtime.h"
#include "core/json/json.h"
#include "firmware-host/agent/secret_files.h"

namespace berth {

class KeeperObjects {
 public:
  // `files` outlives it.
  explicit KeeperObjects(SecretFiles& files) : files_(files) {}

  // Null: there are none. They outlive it.
  void set_source(const PodObjects* objects) { objects_ = objects; }
  // What a keeper is forked with (objects_text()), and the file in which it finds later ones.
  std::string text_of(const Tag& pod, const Json& manifest) const;
  std::string file_of(const Tag& pod) const;

  // The pod has a keeper, or gets one.
  void began(const Tag& pod, const std::string& manifest);
  // Objects of the pod are others now. `tag_text`: by which its keeper is found.
  void changed(const Tag& pod, const std::string& tag_text);
  // Nothing of the pod is left. An earlier agent may have written its file.
  void forget(const Tag& pod);

 private:
  SecretFiles& files_;
  const PodObjects* objects_ = nullptr;
  std::map<Tag, std::string> referring_;  // manifests of pods that refer to ConfigMaps or Secrets
};

}  // namespace berth
