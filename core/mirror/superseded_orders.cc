#include "core/mirror/superseded_orders.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "core/hash.h"

namespace berth {

namespace {

std::string hex_of(std::uint64_t hash) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

std::string record_of(const SupersededOrders::Named& named) {
  std::string record(SupersededOrders::kRecords);
  return record.append(describe(named.first).plural).append("/").append(named.second);
}

std::uint64_t name_of(const SupersededOrders::Named& named) {
  return hash_of(named.second) + static_cast<std::uint64_t>(named.first);
}

}  // namespace

Status SupersededOrders::load(const RecordView& record) {
  const std::string_view name = record.key.substr(kRecords.size());
  const std::size_t slash = std::min(name.find('/'), name.size());
  const KindName* kind = find_kind(name.substr(0, slash));
  const std::string_view key = name.substr(std::min(slash + 1, name.size()));
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(record.value.data(), record.value.data() + record.value.size(), hash, 16);
  const bool is_hash = error == std::errc() && end == record.value.data() + record.value.size();
  if (kind == nullptr || kind->plural != name.substr(0, slash) || key.empty() || !is_hash) {
    return Status::error("stored meta \"" + std::string(record.key) + "\": expected a kind, a key and a hash");
  }
  kept_[{kind->kind, std::string(key)}].hash = hash;
  return Status::ok();
}

void SupersededOrders::connected() {
  retained_.clear();
  for (auto& [named, order] : kept_) order.covered = 0;
}

void SupersededOrders::note_retained(const Named& named, std::string_view order, bool is_delete) {
  retained_[name_of(named)] = {hash_of(order), 0, is_delete};
  let_go(named);
}

void SupersededOrders::note_none(const Named& named) {
  if (!retained_.empty()) retained_.erase(name_of(named));
  let_go(named);
}

bool SupersededOrders::is_superseded(const Named& named, std::string_view order, bool is_delete) {
  const auto kept = kept_.find(named);
  if (kept == kept_.end() || kept->second.hash != hash_of(order)) return false;
  kept->second.covered = 0;
  retained_[name_of(named)] = {kept->second.hash, 0, is_delete};
  return true;
}

bool SupersededOrders::supersede(const Named& named, const std::optional<std::string>& now) {
  const auto found = retained_.find(name_of(named));
  if (found == retained_.end()) return false;
  if (found->second.is_delete && !now) return false;  // it has only been carried out
  const std::uint64_t hash = found->second.hash;
  if (now && hash == hash_of(*now)) return false;
  const auto [kept, is_new] = kept_.try_emplace(named, found->second);
  if (is_new) store_.put(Table::meta, record_of(named), hex_of(hash));
  return true;
}

std::vector<SupersededOrders::Named> SupersededOrders::objects() const {
  std::vector<Named> found;
  for (const auto& [named, hash] : kept_) found.push_back(named);
  return found;
}

// The first mirror that is sent behind an order replaces it.
void SupersededOrders::mirrored(const Named& named, std::uint64_t barrier) {
  if (retained_.empty() && kept_.empty()) return;
  const auto found = retained_.find(name_of(named));
  if (found != retained_.end() && found->second.covered == 0) found->second.covered = barrier;
  const auto kept = kept_.find(named);
  if (kept != kept_.end() && kept->second.covered == 0) kept->second.covered = barrier;
}

bool SupersededOrders::waits_for_barrier() const {
  const auto waits = [](const auto& each) { return each.second.covered != 0; };
  return std::any_of(kept_.begin(), kept_.end(), waits) || std::any_of(retained_.begin(), retained_.end(), waits);
}

void SupersededOrders::settled(std::uint64_t barrier) {
  const auto is_gone = [barrier](const auto& each) {
    return each.second.covered != 0 && each.second.covered <= barrier;
  };
  std::erase_if(retained_, is_gone);
  std::erase_if(kept_, [&](const auto& each) {
    if (is_gone(each)) store_.erase(Table::meta, record_of(each.first));
    return is_gone(each);
  });
}

// The broker does not retain it any more.
void SupersededOrders::let_go(const Named& named) {
  if (kept_.empty() || kept_.erase(named) == 0) return;
  store_.erase(Table::meta, record_of(named));
}

}  // namespace berth
