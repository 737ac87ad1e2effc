// Disk: files in memory that track what was synced, with one fault at a chosen call. After a power cut only synced data
// is guaranteed; later changes may be present, missing or torn.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace berth::crash {

// What a power cut leaves of unsynced changes, including the one it interrupts.
enum class Fate {
  kept,     // all of them
  dropped,  // none; this includes files created or removed since the directory was synced
  torn,     // all but the last, and the first half of that
  mixed,    // a random subset of 512-byte sectors and of names
};

struct Fault {
  enum class Kind {
    none,
    cut,           // power is cut at change `at` (write, sync, truncate, remove, create)
    error_once,    // call `at`, of any kind, fails
    error_always,  // that one and all later ones fail
    full_once,     // write `at` finds no space
    full_always,   // no file can grow from write `at` on, until free_space()
  };
  Kind kind = Kind::none;
  std::uint64_t at = 0;  // counted from 1 since arm()
  Fate fate = Fate::kept;
  std::uint64_t seed = 0;  // for Fate::mixed
};

enum class Answer { ok, error, full };

class Disk {
 public:
  struct File;
  using FileRef = std::shared_ptr<File>;

  Disk() = default;
  // Also copies the files.
  Disk(const Disk& other) { *this = other; }
  Disk& operator=(const Disk& other);

  // Restarts counting, with this fault armed.
  void arm(const Fault& fault);
  // Whether the armed fault has occurred.
  bool fired() const { return fired_; }
  bool is_cut() const { return cut_; }
  const Fault& fault() const { return fault_; }
  bool lies() const { return lies_; }
  // Number of calls so far that the armed kind of fault counts: changes, writes or all.
  std::uint64_t counted() const { return counted_; }
  void free_space() { capacity_ = kUnlimited; }
  // Until the restart, syncs succeed without doing anything.
  void lie_about_syncs() { lies_ = true; }

  // The disk as the next process finds it: after a cut as its fate decides, else with everything written so far. No
  // fault is armed.
  Disk restarted() const;
  // The disk after a power cut at this moment, between two calls.
  Disk after_power_cut(Fate fate, std::uint64_t seed) const;

  // Null if the call failed, or if the file does not exist and `create` is false.
  FileRef open(const std::string& name, bool create);
  Answer read(const File& file, std::uint64_t offset, char* bytes, std::uint64_t count, std::uint64_t& got);
  Answer write(File& file, std::uint64_t offset, std::string_view bytes);
  Answer truncate(File& file, std::uint64_t size);
  Answer sync(File& file);
  Answer size(const File& file, std::uint64_t& bytes);
  Answer remove(const std::string& name);
  Answer exists(const std::string& name, bool& found);
  Answer sync_names();
  // Allocates a file of zeros of this size.
  Answer allocate(const std::string& name, std::uint64_t bytes);
  // Makes a change of something else that loses power together with this disk, and fails likewise. Not ok: it was not
  // made, or power was cut while it was.
  Answer change_beside(bool grows, const std::function<void()>& change);
  std::uint64_t free_bytes() const;

 private:
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  using Names = std::map<std::string, FileRef>;
  enum class Call { look, change, write };

  Answer enter(Call call);
  std::uint64_t used() const;
  Names survivors(Fate fate, std::uint64_t seed) const;
  void cut();

  Names names_;         // as seen by processes
  Names synced_names_;  // guaranteed after a power cut
  Names left_;          // left after the cut
  Fault fault_;
  std::uint64_t counted_ = 0;
  std::uint64_t capacity_ = kUnlimited;
  bool fired_ = false;
  bool cut_ = false;
  bool cutting_ = false;  // power is cut during the current change
  bool lies_ = false;
};

struct Disk::File {
  struct Change {
    bool truncates = false;
    std::uint64_t offset = 0;  // or the new size
    std::string bytes;
  };
  std::string now;
  std::string synced;
  std::vector<Change> since;  // from synced to now, unless a sync failed

  static void apply(std::string& content, const Change& change);
};

}  // namespace berth::crash
