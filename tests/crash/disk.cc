#include "tests/crash/disk.h"

#include <algorithm>
#include <cstring>

namespace berth::crash {

namespace {

constexpr std::uint64_t kSector = 512;

Disk::File::Change part_of(const Disk::File::Change& change, std::uint64_t first, std::uint64_t end) {
  return {false, change.offset + first, change.bytes.substr(first, end - first)};
}

void apply_half(std::string& content, const Disk::File::Change& change) {
  // A truncation is one record in the file system's journal: it happens completely or not at all.
  if (!change.truncates) Disk::File::apply(content, part_of(change, 0, change.bytes.size() / 2));
}

void apply_at_random(std::string& content, const Disk::File::Change& change, Random& random) {
  if (change.truncates) {
    if (random.chance(1, 2)) Disk::File::apply(content, change);
    return;
  }
  for (std::uint64_t at = 0; at < change.bytes.size();) {
    const std::uint64_t end =
        std::min<std::uint64_t>(change.bytes.size(), at + kSector - (change.offset + at) % kSector);
    if (random.chance(1, 2)) Disk::File::apply(content, part_of(change, at, end));
    at = end;
  }
}

std::string content_after_cut(const Disk::File& file, Fate fate, Random& random) {
  std::string content = file.synced;
  if (fate == Fate::dropped) return content;
  for (const Disk::File::Change& change : file.since) {
    if (fate == Fate::mixed) {
      apply_at_random(content, change, random);
    } else if (fate == Fate::torn && &change == &file.since.back()) {
      apply_half(content, change);
    } else {
      Disk::File::apply(content, change);
    }
  }
  return content;
}

}  // namespace

void Disk::File::apply(std::string& content, const Change& change) {
  if (change.truncates) {
    content.resize(change.offset);
    return;
  }
  if (content.size() < change.offset + change.bytes.size()) content.resize(change.offset + change.bytes.size());
  std::memcpy(content.data() + change.offset, change.bytes.data(), change.bytes.size());
}

Disk& Disk::operator=(const Disk& other) {
  if (this == &other) return *this;
  std::map<const File*, FileRef> copies;
  const auto copy = [&copies](const Names& from, Names& to) {
    to.clear();
    for (const auto& [name, file] : from) {
      FileRef& made = copies[file.get()];
      if (made == nullptr) made = std::make_shared<File>(*file);
      to[name] = made;
    }
  };
  copy(other.names_, names_);
  copy(other.synced_names_, synced_names_);
  copy(other.left_, left_);
  fault_ = other.fault_;
  counted_ = other.counted_;
  capacity_ = other.capacity_;
  fired_ = other.fired_;
  cut_ = other.cut_;
  cutting_ = other.cutting_;
  lies_ = other.lies_;
  return *this;
}

void Disk::arm(const Fault& fault) {
  fault_ = fault;
  counted_ = 0;
  fired_ = cut_ = cutting_ = false;
}

Disk Disk::restarted() const {
  Disk next(*this);
  if (cut_) next.names_ = next.synced_names_ = next.left_;
  next.left_.clear();
  next.capacity_ = kUnlimited;
  next.lies_ = false;
  next.arm({});
  return next;
}

Disk Disk::after_power_cut(Fate fate, std::uint64_t seed) const {
  Disk next(*this);
  next.names_ = next.synced_names_ = survivors(fate, seed);
  next.left_.clear();
  next.capacity_ = kUnlimited;
  next.lies_ = false;
  next.arm({});
  return next;
}

Disk::Names Disk::survivors(Fate fate, std::uint64_t seed) const {
  Random random(seed);
  Names chosen = fate == Fate::dropped ? synced_names_ : names_;
  if (fate == Fate::mixed) {
    for (const auto& [name, file] : synced_names_) {
      if (!names_.contains(name) && random.chance(1, 2)) chosen[name] = file;
    }
    std::erase_if(chosen,
                  [&](const auto& entry) { return !synced_names_.contains(entry.first) && random.chance(1, 2); });
  }
  Names left;
  for (const auto& [name, file] : chosen) {
    auto made = std::make_shared<File>();
    made->now = made->synced = content_after_cut(*file, fate, random);
    left[name] = std::move(made);
  }
  return left;
}

void Disk::cut() {
  left_ = survivors(fault_.fate, fault_.seed);
  cut_ = fired_ = true;
  cutting_ = false;
}

// If a cut is due, the change proceeds and ends with cut().
Answer Disk::enter(Call call) {
  if (cut_) return Answer::error;
  switch (fault_.kind) {
    case Fault::Kind::none: return Answer::ok;
    case Fault::Kind::cut:
      if (call != Call::look && ++counted_ == fault_.at) cutting_ = true;
      return Answer::ok;
    case Fault::Kind::error_once:
    case Fault::Kind::error_always:
      ++counted_;
      if (counted_ != fault_.at && !(fired_ && fault_.kind == Fault::Kind::error_always)) return Answer::ok;
      fired_ = true;
      return Answer::error;
    case Fault::Kind::full_once:
    case Fault::Kind::full_always:
      if (call != Call::write || ++counted_ != fault_.at) return Answer::ok;
      fired_ = true;
      if (fault_.kind == Fault::Kind::full_once) return Answer::full;
      capacity_ = used();
      return Answer::ok;
  }
  return Answer::ok;
}

Disk::FileRef Disk::open(const std::string& name, bool create) {
  const auto found = names_.find(name);
  const bool creates = found == names_.end() && create;
  if (enter(creates ? Call::change : Call::look) != Answer::ok) return nullptr;
  if (found != names_.end()) return found->second;
  if (!create) return nullptr;
  FileRef file = names_[name] = std::make_shared<File>();
  if (cutting_) {
    cut();
    return nullptr;
  }
  return file;
}

Answer Disk::read(const File& file, std::uint64_t offset, char* bytes, std::uint64_t count, std::uint64_t& got) {
  got = 0;
  if (const Answer answer = enter(Call::look); answer != Answer::ok) return answer;
  if (offset < file.now.size()) got = std::min<std::uint64_t>(count, file.now.size() - offset);
  std::memcpy(bytes, file.now.data() + (got > 0 ? offset : 0), got);
  return Answer::ok;
}

Answer Disk::write(File& file, std::uint64_t offset, std::string_view bytes) {
  if (const Answer answer = enter(Call::write); answer != Answer::ok) return answer;
  const std::uint64_t end = offset + bytes.size();
  const std::uint64_t grows = end > file.now.size() ? end - file.now.size() : 0;
  const std::uint64_t free = free_bytes();
  const bool fits = grows <= free;
  // Like write(2), writes as much as fits.
  if (!fits) bytes = bytes.substr(0, bytes.size() - std::min<std::uint64_t>(bytes.size(), grows - free));
  File::Change change{false, offset, std::string(bytes)};
  if (!bytes.empty()) {
    File::apply(file.now, change);
    file.since.push_back(std::move(change));
  }
  if (cutting_) {
    cut();
    return Answer::error;
  }
  return fits ? Answer::ok : Answer::full;
}

Answer Disk::truncate(File& file, std::uint64_t size) {
  if (const Answer answer = enter(Call::change); answer != Answer::ok) return answer;
  File::Change change{true, size, {}};
  File::apply(file.now, change);
  file.since.push_back(std::move(change));
  if (!cutting_) return Answer::ok;
  cut();
  return Answer::error;
}

Answer Disk::sync(File& file) {
  const Answer answer = enter(Call::change);
  if (answer != Answer::ok) {
    // Linux marks the pages clean although they were not written: a later sync succeeds without writing them.
    if (!cut_) file.since.clear();
    return answer;
  }
  const bool last = cutting_;
  if (!last || fault_.fate == Fate::kept) {
    if (!lies_) {
      for (const File::Change& change : file.since) File::apply(file.synced, change);
      file.since.clear();
    }
  }
  if (!last) return Answer::ok;
  cut();
  return Answer::error;
}

Answer Disk::size(const File& file, std::uint64_t& bytes) {
  const Answer answer = enter(Call::look);
  bytes = file.now.size();
  return answer;
}

Answer Disk::remove(const std::string& name) {
  if (const Answer answer = enter(Call::change); answer != Answer::ok) return answer;
  names_.erase(name);
  if (!cutting_) return Answer::ok;
  cut();
  return Answer::error;
}

Answer Disk::exists(const std::string& name, bool& found) {
  const Answer answer = enter(Call::look);
  found = names_.contains(name);
  return answer;
}

Answer Disk::sync_names() {
  if (const Answer answer = enter(Call::change); answer != Answer::ok) return answer;
  const bool last = cutting_;
  if ((!last || fault_.fate == Fate::kept) && !lies_) synced_names_ = names_;
  if (!last) return Answer::ok;
  cut();
  return Answer::error;
}

Answer Disk::allocate(const std::string& name, std::uint64_t bytes) {
  if (const Answer answer = enter(Call::write); answer != Answer::ok) return answer;
  if (!names_.contains(name) && bytes > free_bytes()) return Answer::full;
  FileRef& file = names_[name];
  if (file == nullptr) file = std::make_shared<File>();
  file->now.assign(bytes, '\0');
  if (!cutting_) return Answer::ok;
  cut();
  return Answer::error;
}

Answer Disk::change_beside(bool grows, const std::function<void()>& change) {
  if (const Answer answer = enter(grows ? Call::write : Call::change); answer != Answer::ok) return answer;
  if (grows && free_bytes() == 0) return Answer::full;
  change();
  if (!cutting_) return Answer::ok;
  cut();
  return Answer::error;
}

std::uint64_t Disk::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : names_) bytes += file->now.size();
  return bytes;
}

std::uint64_t Disk::free_bytes() const {
  if (capacity_ == kUnlimited) return kUnlimited;
  const std::uint64_t bytes = used();
  return bytes < capacity_ ? capacity_ - bytes : 0;
}

}  // namespace berth::crash
