// ObjectFile: the ConfigMaps and Secrets of one pod, as its keeper has them: those that the agent gave it when it was
// forked, and from then on those in a file that the agent replaces, in memory only (secret_files.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/agent/pod_objects.h"
#include "core/json/json.h"

namespace berth {

// All objects that the manifest refers to, as they are now; empty: it refers to none. A text for ObjectFile, of secrets
// too: it must not be written to a disk.
std::string objects_text(const PodObjects& objects, const Tag& tag, const Json& manifest);

class ObjectFile final : public PodObjects {
 public:
  // `text`: of objects_text(). `path`: of the file, if there is one later.
  ObjectFile(const std::string& text, std::string path) : path_(std::move(path)) { take(text); }

  // What is in the file now. One that cannot be read changes nothing.
  void reload();
  std::shared_ptr<const PodObject> find(const Tag& pod, PodObjectKind kind, const std::string& name) const override;
  bool is_absent(const Tag& pod, PodObjectKind kind, const std::string& name) const override;
  std::string why_missing(const Tag& pod, PodObjectKind kind, const std::string& name) const override;

 private:
  using Id = std::pair<PodObjectKind, std::string>;

  void take(const std::string& text);

  const std::string path_;
  std::map<Id, std::shared_ptr<const PodObject>> objects_;
  std::map<Id, std::string> missing_;  // why, of what exists and is not on this device
};

}  // namespace berth
