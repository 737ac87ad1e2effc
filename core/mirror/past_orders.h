// PastOrders: what was ordered once and is not any more (P16). A broker may come back with an older retained set: its
// own persistence is half an hour behind, or it was restored from a copy. Then orders come back that the gateway has
// gone on from: of objects that were deleted since, and earlier versions of those that were updated.
//
// Each such order has a number and is known by a hash. Behind the mirrors that replace orders the gateway leaves a
// retained mark with the highest of their numbers. A session begins by reading the mark: an order whose number is
// higher may come from an older retained set and is none; one that is not was published again since, and is one. Only
// the newest are kept, in records of many each.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/kind.h"
#include "core/json/json.h"
#include "core/store.h"

namespace berth {

class PastOrders {
 public:
  static constexpr std::string_view kRecords = "past/";  // of Table::meta: "past/<block>" -> its hashes
  static constexpr std::size_t kBlock = 32;
  static constexpr std::size_t kMaxBlocks = 128;

  explicit PastOrders(Store& store) : store_(store) {}

  // Takes one of its records in.
  Status load(const RecordView& record);
  // Stages the records that have changed; called once a turn.
  void save();

  // The broker retains this order, and will not any longer: a mirror replaces it, or it has been carried out.
  void remember(Kind kind, const std::string& key, const Json& order);
  // A pod was as `before` says, and is as `now` says, or gone; the broker may have retained that as an order.
  void remember_version(const std::string& key, const Json& before, const Json& now);
  void remember_gone(const std::string& key, const Json& before);
  // The pod with this uid is gone, as far as is remembered; and is there again.
  bool is_gone(std::string_view uid) const;
  void note_back(std::string_view uid);
  // It was ordered again just now.
  void forget(Kind kind, const std::string& key, const Json& order);
  // The broker retains this order, maybe since before it was replaced.
  bool is_past(Kind kind, const std::string& key, const Json& order) const;
  // Both say the same, apart from what the gateway writes into a manifest.
  static bool are_equal(const Json& order, const Json& manifest);

  // A session with the broker begins, in which its mark is not known yet.
  void start_session() { marked_ = sent_ = 0; }
  // The broker has replaced the orders up to this number.
  void set_marked(std::uint64_t number) { marked_ = number; }
  std::uint64_t marked() const { return marked_; }
  // All mirrors have been sent that replace what is known so far.
  void note_all_sent() { sent_ = newest(); }
  std::uint64_t sent() const { return sent_; }
  bool is_mark_due() const { return sent_ > marked_; }
  // The number of the last one; 0: none.
  std::uint64_t newest() const;

  // For tests and the simulator.
  void clear() { blocks_.clear(); }

 private:
  void add(std::uint64_t hash);
  bool has_since_mark(std::uint64_t hash) const;
  void drop(std::uint64_t hash);

  Store& store_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> blocks_;  // number / kBlock -> hashes
  std::set<std::uint64_t> changed_;                             // blocks
  std::uint64_t marked_ = 0, sent_ = 0;
};

}  // namespace berth
