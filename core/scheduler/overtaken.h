// Overtaken: the words of operators that the broker may still retain though the gateway has gone on to a later order.
// An order that comes by the api, or in a message that is not retained, leaves the retained word where it was; the
// mirror of what holds now takes its place. When that mirror is lost with the link or the power, the old word comes
// back with the next retained set, and taken for an order it would undo what a client was told is done. So it is known
// by a hash, durably, until a fence behind the mirror shows that the broker has let go of it.
//
// A word that an operator says again, letter by letter, while the gateway does not hear him, cannot be told from the
// old one: then the later order stands, and is mirrored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/objects.h"

namespace berth {

class Overtaken {
 public:
  using Named = std::pair<Kind, std::string>;  // kind, and key as in Objects

  // `kept`: "<plural>/<key> <hash>" for each word; its owner makes it durable when a call says that it changed.
  explicit Overtaken(std::set<std::string>& kept) : kept_(kept) {}

  // With a broker that says all it retains.
  void connected();
  // The broker retains this word of an operator, and no older one. nullopt: it is what is known of the object, or is
  // read again in time. True: `kept` changed.
  bool note_retained(const Named& named, std::optional<std::string_view> word, bool is_delete = false);
  // An order that the broker does not retain has made the object what it is `now` (nullopt: gone). `before`: what it
  // was, where the broker may retain just that. True: `kept` changed.
  bool overtake(const Named& named, const std::optional<std::string>& before, const std::optional<std::string>& now);
  bool contains(const Named& named, std::string_view word) const;
  std::set<Named> objects() const;  // of which there are any

  // The mirror leaves before this fence does.
  void mirrored(const Named& named, std::uint64_t fence);
  bool waits_for_fence() const { return !covered_.empty(); }
  // The fence is back. `is_owed`: the mirror has not left after all. True: `kept` changed.
  bool settled(std::uint64_t fence, const std::function<bool(const Named&)>& is_owed);

 private:
  struct Word {
    std::uint64_t hash = 0;
    bool is_delete = false;
  };

  bool let_go(const Named& named);

  std::set<std::string>& kept_;
  std::map<Named, Word> words_;             // last heard of each in this session
  std::map<Named, std::uint64_t> covered_;  // by which fence the broker has a mirror in the place of the word
};

}  // namespace berth
