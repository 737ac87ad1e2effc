// SupersededOrders: orders of operators that the broker may still retain although the gateway has gone on to a later
// one. An order that comes by the api, or in a message that is not retained, leaves the retained order where it was;
// the mirror of what holds now replaces it. When that mirror is lost with the link or the power, the old order comes
// back with the next retained set, and if it were carried out it would undo what a client was told is done. So it is
// known by a hash, durably, until a synchronisation barrier behind the mirror shows that the broker has replaced it.
//
// An order that an operator repeats byte for byte while the gateway is not connected cannot be told from the old one:
// then the later order stands, and is mirrored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/kind.h"
#include "core/store.h"

namespace berth {

class SupersededOrders {
 public:
  using Named = std::pair<Kind, std::string>;  // kind, and key as in Objects

  static constexpr std::string_view kRecords = "overtaken/";  // of Table::meta: "overtaken/<plural>/<key>" -> hash

  explicit SupersededOrders(Store& store) : store_(store) {}

  // Takes one of its records in.
  Status load(const RecordView& record);
  // A session begins, in which the broker delivers all it retains.
  void connected();

  // The broker retains this order, and no older one.
  void note_retained(const Named& named, std::string_view order, bool is_delete = false);
  // What it retains is no order, or one that changes nothing: PodEntry::order_session knows of those.
  void note_none(const Named& named);
  // True: the broker retains this order, and it is superseded.
  bool is_superseded(const Named& named, std::string_view order, bool is_delete);
  // An order that the broker does not retain has made the object what it is `now`; nullopt: gone. True: the broker may
  // retain an older one.
  bool supersede(const Named& named, const std::optional<std::string>& now);
  std::vector<Named> objects() const;  // whose orders are superseded

  // The mirror was sent, before the barrier of this number.
  void mirrored(const Named& named, std::uint64_t barrier);
  bool waits_for_barrier() const;
  void settled(std::uint64_t barrier);  // it is back

 private:
  struct Order {
    std::uint64_t hash = 0;
    std::uint64_t covered = 0;  // by which barrier the broker has a mirror instead; 0: none yet
    bool is_delete = false;
  };

  void let_go(const Named& named);

  Store& store_;
  std::map<Named, Order> kept_;              // as the store has them
  std::map<std::uint64_t, Order> retained_;  // in this session, by hash of the name: there may be tens of thousands
};

}  // namespace berth
