// Retirement: the operator declares that a device is gone for good (`berthctl node forget`, P9). What it held ends
// without proof; should it return all the same, it is first cleared of everything, and gets no pod before that.
//
// A retired name is "<node>/<incarnation>", or "<node>/" when the incarnation was never known: then whichever returns
// first. It stays on flash until a complete listing of that incarnation has come, every slot of which is released. The
// listing is asked for with a floor above every epoch the node ever had, since its rows and release entries went when
// it was retired: so the node that answers has durably taken that floor, and nothing late can start anything there.
#pragma once

#include <string>

#include "core/placement/adopt_mode.h"
#include "core/placement/takeover.h"
#include "core/placement/twins.h"

namespace berth {

class Retirement {
 public:
  struct Parts {
    PlacementState& state;
    VolumeBinder& volumes;
    ReleaseList& releases;
    ObjectChanges& changes;
    PodLifecycle& lifecycle;
    NodeRegistry& nodes;
    AdoptMode& adopt_mode;
    Takeover& takeover;
    Twins& twins;
    Listings& listings;
    OrphanVolumes& orphan_volumes;
  };
  // All outlive it.
  Retirement(const PlacementContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  // An error when there is no such node.
  Status retire(const std::string& node);

 private:
  void end_row(std::string_view uid, const std::string& node);
  void orphan_volumes(const std::string& node);

  const PlacementContext& context_;
  Parts parts_;
};

}  // namespace berth
