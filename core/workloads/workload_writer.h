// WorkloadWriter: how objects of the kinds that controllers look after change, whoever asks for it: their metadata as
// the API server keeps it, deletion by finalizers, the mirror.
#pragma once

#include <string>

#include "core/controllers/cluster_access.h"
#include "core/placement/context.h"

namespace berth {

class WorkloadWriter {
 public:
  // It outlives the writer.
  explicit WorkloadWriter(const PlacementContext& context) : context_(context) {}

  // What a new object has, or the next version of a known one, besides what the manifest says: uid, times, generation,
  // and what only the gateway and its controllers write. `manifest` is without a status.
  Json with_kept_metadata(Kind kind, const std::string& key, Json manifest) const;
  // A new object, whose manifest has been checked, or the next version of a known one.
  Status keep(Kind kind, const std::string& key, Json manifest);

  // Merge patches, of everything but the status, and {"status": ...}.
  WriteResult patch(Kind kind, const std::string& key, const Json& merge);
  WriteResult patch_status(Kind kind, const std::string& key, const Json& merge);
  WriteResult remove(Kind kind, const std::string& key, const DeleteOptions& options);

 private:
  void erase(Kind kind, const std::string& key);

  const PlacementContext& context_;
};

}  // namespace berth
