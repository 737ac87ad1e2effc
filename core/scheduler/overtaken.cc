#include "core/scheduler/overtaken.h"

#include <array>
#include <cstdio>

namespace berth {

namespace {

// FNV-1a, 64 bits: stored, so it stays the same on every machine and in every version.
std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char each : word) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return hash;
}

std::string prefix_of(const Overtaken::Named& named) {
  return std::string(describe(named.first).plural) + "/" + named.second + " ";
}

std::string name_of(const Overtaken::Named& named, std::uint64_t hash) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return prefix_of(named) + text.data();
}

}  // namespace

void Overtaken::connected() {
  words_.clear();
  covered_.clear();
}

bool Overtaken::note_retained(const Named& named, std::optional<std::string_view> word, bool is_delete) {
  if (word) {
    words_[named] = {hash_of(*word), is_delete};
    covered_.erase(named);
  } else {
    words_.erase(named);
  }
  return let_go(named);
}

bool Overtaken::overtake(const Named& named, const std::optional<std::string>& before,
                         const std::optional<std::string>& now) {
  std::optional<std::uint64_t> hash;
  if (const auto word = words_.find(named); word != words_.end()) {
    if (word->second.is_delete && !now) return false;  // it has only been carried out
    hash = word->second.hash;
  } else if (before) {
    hash = hash_of(*before);
  }
  if (!hash || (now && *hash == hash_of(*now))) return false;
  covered_.erase(named);  // by a mirror of what holds no more
  return kept_.insert(name_of(named, *hash)).second;
}

bool Overtaken::contains(const Named& named, std::string_view word) const {
  return !kept_.empty() && kept_.contains(name_of(named, hash_of(word)));
}

std::set<Overtaken::Named> Overtaken::objects() const {
  std::set<Named> found;
  for (const std::string& each : kept_) {
    const std::size_t slash = each.find('/'), space = each.find(' ');
    const KindName* kind = find_kind(std::string_view(each).substr(0, slash));
    if (kind == nullptr || space == std::string::npos || slash > space) continue;
    found.emplace(kind->kind, each.substr(slash + 1, space - slash - 1));
  }
  return found;
}

void Overtaken::mirrored(const Named& named, std::uint64_t fence) {
  if (words_.empty() && kept_.empty()) return;
  const auto kept = kept_.lower_bound(prefix_of(named));
  if (words_.contains(named) || (kept != kept_.end() && kept->starts_with(prefix_of(named)))) covered_[named] = fence;
}

bool Overtaken::settled(std::uint64_t fence, const std::function<bool(const Named&)>& is_owed) {
  bool changed = false;
  for (auto covered = covered_.begin(); covered != covered_.end();) {
    if (covered->second > fence || is_owed(covered->first)) {
      ++covered;
      continue;
    }
    words_.erase(covered->first);
    changed = let_go(covered->first) || changed;
    covered = covered_.erase(covered);
  }
  return changed;
}

// The broker retains none of them any more.
bool Overtaken::let_go(const Named& named) {
  if (kept_.empty()) return false;
  const std::string prefix = prefix_of(named);
  const auto first = kept_.lower_bound(prefix);
  auto last = first;
  while (last != kept_.end() && last->starts_with(prefix)) ++last;
  const bool any = first != last;
  kept_.erase(first, last);
  return any;
}

}  // namespace berth
