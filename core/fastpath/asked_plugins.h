// AskedPlugins: which of a framework's plugins a base view asks about nodes.
#pragma once

#include "core/fastpath/undeclared.h"
#include "core/framework/framework.h"

namespace berth {

struct AskedPlugins {
  UndeclaredPlugins undeclared;  // asked for each pod, not here
  CycleState state;              // as PreFilter and PreScore of those that are asked left it
  PluginBits accept_all;         // Filter plugins that accept every node

  // Those that sum have nothing to say of a node alone.
  template <class Entry>
  bool take_part(const Entry& entry) const {
    return entry.summing == nullptr || undeclared.own.test(entry.number);
  }
  template <class Entry>
  bool filter(const Entry& entry) const {
    return take_part(entry) && !state.skip_filter.test(entry.number) && !undeclared.filter.test(entry.number) &&
           !accept_all.test(entry.number);
  }
  template <class Entry>
  bool score(const Entry& entry) const {
    return take_part(entry) && !state.skip_score.test(entry.number) && !undeclared.own.test(entry.number);
  }
};

}  // namespace berth
