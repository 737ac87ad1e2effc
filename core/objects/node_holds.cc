#include "core/objects/node_holds.h"

namespace berth {

const HoldName& describe(Hold hold) {
  static constexpr HoldName kPassedOver{"node.berth/passed-over", "PassedOver", "TookNoPod"};
  switch (hold) {
    case Hold::passed_over: break;
  }
  return kPassedOver;
}

}  // namespace berth
