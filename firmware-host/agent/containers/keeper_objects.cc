#include "firmware-host/agent/containers/keeper_objects.h"

#include <unistd.h>

#include <optional>

#include "core/api/config_refs.h"
#include "firmware-host/agent/containers/object_file.h"
#include "firmware-host/agent/keeper.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/process_tree.h"

namespace berth {

std::string KeeperObjects::text_of(const Tag& pod, const Json& manifest) const {
  return objects_ == nullptr ? std::string() : objects_text(*objects_, pod, manifest);
}

std::string KeeperObjects::file_of(const Tag& pod) const { return files_.path_of(directory_name(pod)); }

void KeeperObjects::began(const Tag& pod, const std::string& manifest) {
  const Result<Json> read = Json::parse(manifest);
  if (read && !config_names_of(*read).empty()) referring_[pod] = manifest;
}

void KeeperObjects::changed(const Tag& pod, const std::string& tag_text) {
  const auto manifest = referring_.find(pod);
  if (manifest == referring_.end() || objects_ == nullptr) return;
  files_.put(directory_name(pod), objects_text(*objects_, pod, Json::parse(manifest->second).value()));
  const Result<std::optional<OpenProcess>> keeper = open_keeper(tag_text);
  if (!keeper || !*keeper) return;  // the next one is given them
  send_signal((*keeper)->pidfd, kObjectsSignal);
  close((*keeper)->pidfd);
}

void KeeperObjects::forget(const Tag& pod) {
  referring_.erase(pod);
  files_.erase(directory_name(pod));
}

}  // namespace berth
