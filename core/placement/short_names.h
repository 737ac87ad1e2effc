// ShortNames: what devices want to be asked by (N12): each one's name for this gateway, its term and store id, and the
// device's own incarnation, as said with its last listing. A request goes by that name only while all of them are still
// the same, and only once: a device that has forgotten the name, or does not know it yet, is asked again in full.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "core/handshake/messages.h"
#include "core/text.h"

namespace berth {

class ShortNames {
 public:
  // A page that counts.
  void note(const Answer& slots);
  // Has the request go by the device's name, if it can. A floor that the device has heard under it is left out.
  void shorten(const std::string& node, Request& request);
  // Fills in what an answer leaves out that goes via a name. False: nobody was asked by that name, or it means
  // something else by now.
  bool complete(Answer& answer) const;
  void forget(const std::string& node) { names_.erase(node); }
  void clear() { names_.clear(); }

 private:
  struct Name {
    Text name;
    Text store_id;
    Text incarnation;
    std::uint64_t term = 0;
    Epoch floor;  // told under this name
  };
  std::unordered_map<std::string, Name> names_;  // by node
};

}  // namespace berth
