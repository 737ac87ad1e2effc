// ChangeLog: the names of the objects of a kind that changed last, for readers that keep something about all of them
// and would otherwise have to look at all again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace berth {

class ChangeLog {
 public:
  static constexpr std::size_t kKept = 256;

  // How many of the last changes it knows.
  explicit ChangeLog(std::size_t kept = kKept) : kept_(kept) {}
  // The object of that name was added, replaced or removed.
  void note(std::string name) {
    names_.push_back(std::move(name));
    if (names_.size() <= kept_) return;
    names_.pop_front();
    ++forgotten_;
  }
  // How many changes there were.
  std::uint64_t made() const { return forgotten_ + names_.size(); }
  // Appends the names of those after the first `seen`, some perhaps twice. False: not all are known any more.
  bool since(std::uint64_t seen, std::vector<std::string>& names) const {
    if (seen < forgotten_ || seen > made()) return false;
    names.insert(names.end(), names_.begin() + static_cast<std::ptrdiff_t>(seen - forgotten_), names_.end());
    return true;
  }

 private:
  std::size_t kept_;
  std::deque<std::string> names_;
  std::uint64_t forgotten_ = 0;
};

}  // namespace berth
