#include "core/mirror/past_orders.h"

#include <algorithm>
#include <charconv>

#include "core/hash.h"
#include "core/objects/accepting.h"

namespace berth {

namespace {

void erase_annotations(Json& metadata) {
  Json* annotations = object_at(metadata, "annotations");
  if (annotations == nullptr) return;
  std::erase_if(annotations->as_object(), [](const Json::Member& member) {
    return member.first.starts_with("volume.kubernetes.io/") || member.first.starts_with("pv.kubernetes.io/");
  });
  if (annotations->as_object().empty()) metadata.erase("annotations");
}

// An order without what the gateway writes into it: uid, namespace, creation time, priority, the binding of claim and
// volume, status.
Json essence_of(Json order) {
  order.erase("status");
  if (Json* metadata = object_at(order, "metadata")) {
    for (std::string_view member :
         {"uid", "namespace", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
      metadata->erase(member);
    }
    erase_annotations(*metadata);
  }
  if (Json* spec = object_at(order, "spec")) {
    for (std::string_view member : {"priority", "preemptionPolicy", "volumeName", "claimRef"}) spec->erase(member);
  }
  return order;
}

std::uint64_t order_hash(Kind kind, const std::string& key, std::string_view uid, const Json& order) {
  std::string text(describe(kind).plural);
  text.append("\n").append(key).append("\n").append(uid).append("\n").append(essence_of(order).dump());
  return hash_of(text);
}

// Of all orders with this uid: the pod is gone.
std::uint64_t uid_hash(std::string_view uid) { return hash_of("uid\n" + std::string(uid)); }

std::string block_record(std::uint64_t block) { return std::string(PastOrders::kRecords) + std::to_string(block); }

constexpr std::size_t kHashBytes = 8;

}  // namespace

Status PastOrders::load(const RecordView& record) {
  const std::string_view name = record.key.substr(kRecords.size());
  std::uint64_t block = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), block);
  const std::size_t count = record.value.size() / kHashBytes;
  if (error != std::errc() || end != name.data() + name.size() || record.value.size() % kHashBytes != 0 || count == 0 ||
      count > kBlock) {
    return Status::error("stored meta \"" + std::string(record.key) + "\": expected a number and up to 32 hashes");
  }
  std::vector<std::uint64_t>& hashes = blocks_[block];
  for (std::size_t at = 0; at < record.value.size(); at += kHashBytes) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < kHashBytes; ++i) {
      hash = hash << 8 | static_cast<std::uint8_t>(record.value[at + i]);
    }
    hashes.push_back(hash);
  }
  return Status::ok();
}

void PastOrders::save() {
  for (const std::uint64_t block : changed_) {
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) {
      store_.erase(Table::meta, block_record(block));
      continue;
    }
    std::string value;
    for (const std::uint64_t hash : found->second) {
      for (std::size_t i = kHashBytes; i-- > 0;) value.push_back(static_cast<char>(hash >> (8 * i)));
    }
    store_.put(Table::meta, block_record(block), value);
  }
  changed_.clear();
}

std::uint64_t PastOrders::newest() const {
  return blocks_.empty() ? 0 : blocks_.rbegin()->first * kBlock + blocks_.rbegin()->second.size();
}

void PastOrders::add(std::uint64_t hash) {
  const std::uint64_t block = newest() / kBlock;
  blocks_[block].push_back(hash);
  changed_.insert(block);
  if (blocks_.size() <= kMaxBlocks) return;
  changed_.insert(blocks_.begin()->first);
  blocks_.erase(blocks_.begin());
}

void PastOrders::remember(Kind kind, const std::string& key, const Json& order) {
  const std::uint64_t hash = order_hash(kind, key, uid_of(order), order);
  drop(hash);
  add(hash);
}

void PastOrders::remember_version(const std::string& key, const Json& before, const Json& now) {
  if (before.is_null() || are_equal(before, now)) return;
  add(order_hash(Kind::pod, key, {}, before));
  add(order_hash(Kind::pod, key, uid_of(before), before));
}

void PastOrders::remember_gone(const std::string& key, const Json& before) {
  if (before.is_null()) return;
  add(order_hash(Kind::pod, key, {}, before));
  add(uid_hash(uid_of(before)));
}

bool PastOrders::is_gone(std::string_view uid) const {
  const std::uint64_t hash = uid_hash(uid);
  return std::any_of(blocks_.begin(), blocks_.end(), [hash](const auto& block) {
    return std::find(block.second.begin(), block.second.end(), hash) != block.second.end();
  });
}

void PastOrders::note_back(std::string_view uid) { drop(uid_hash(uid)); }

void PastOrders::forget(Kind kind, const std::string& key, const Json& order) {
  if (blocks_.empty()) return;  // most orders are the first of their object, and a hash is a tenth of what one costs
  const std::string uid = uid_of(order);
  drop(order_hash(kind, key, uid, order));
  if (!uid.empty()) drop(uid_hash(uid));
}

// Without its block no number would be the same: the place stays.
void PastOrders::drop(std::uint64_t hash) {
  for (auto& [block, hashes] : blocks_) {
    if (std::find(hashes.begin(), hashes.end(), hash) == hashes.end()) continue;
    std::replace(hashes.begin(), hashes.end(), hash, std::uint64_t{0});
    changed_.insert(block);
  }
}

bool PastOrders::has_since_mark(std::uint64_t hash) const {
  for (auto block = blocks_.lower_bound(marked_ / kBlock); block != blocks_.end(); ++block) {
    const std::uint64_t first = block->first * kBlock + 1;
    for (std::size_t i = 0; i < block->second.size(); ++i) {
      if (first + i > marked_ && block->second[i] == hash) return true;
    }
  }
  return false;
}

bool PastOrders::is_past(Kind kind, const std::string& key, const Json& order) const {
  if (marked_ >= newest()) return false;
  const std::string uid = uid_of(order);
  if (has_since_mark(order_hash(kind, key, uid, order))) return true;
  return !uid.empty() && has_since_mark(uid_hash(uid));
}

bool PastOrders::are_equal(const Json& order, const Json& manifest) {
  const std::string uid = uid_of(order);
  if (!uid.empty() && uid != uid_of(manifest)) return false;
  return essence_of(order) == essence_of(manifest);
}

}  // namespace berth
