// SupersededOrders: the words of operators that the broker may still retain though the gateway has gone on to a later
// order. An order that comes by the api, or in a message that is not retained, leaves the retained word where it was;
// the mirror of what holds now takes its place. When that mirror is lost with the link or the power, the old word comes
// back with the next retained set, and taken for an order it would undo what a client was told is done. So it is known
// by a hash, durably, until a fence behind the mirror shows that the broker has let go of it.
//
// A word that an operator says again, letter by letter, while the gateway does not hear him, cannot be told from the
// old one: then the later order stands, and is mirrored.
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
  // With a broker that says all it retains.
  void connected();

  // The broker retains this word of an operator, and no older one.
  void note_retained(const Named& named, std::string_view word, bool is_delete = false);
  // What it retains is no operator's word, or one that says what is known: PodEntry::left_in tells of those.
  void note_none(const Named& named);
  // True: the broker retains this word, and it was overtaken.
  bool is_superseded(const Named& named, std::string_view word, bool is_delete);
  // An order that the broker does not retain has made the object what it is `now`; nullopt: gone. True: the broker may
  // retain an older word.
  bool supersede(const Named& named, const std::optional<std::string>& now);
  std::vector<Named> objects() const;  // whose words were overtaken

  // The mirror has left, before this fence does.
  void mirrored(const Named& named, std::uint64_t fence);
  bool waits_for_fence() const;
  void settled(std::uint64_t fence);  // it is back

 private:
  struct Word {
    std::uint64_t hash = 0;
    std::uint64_t covered = 0;  // by which fence the broker has a mirror in its place; 0: by none yet
    bool is_delete = false;
  };

  void let_go(const Named& named);

  Store& store_;
  std::map<Named, Word> kept_;           // as the store has them
  std::map<std::uint64_t, Word> words_;  // of this session, by hash of the name: there may be tens of thousands
};

}  // namespace berth
