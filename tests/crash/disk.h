// Disk: files in memory that know what was synced, and one fault at a chosen call. After a power cut only what was
// synced is sure; what happened since may be there, be gone or be torn.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace berth::crash {

// What a power cut leaves of the changes that were not synced, the one it interrupts included.
enum class Fate {
  kept,     // all of them
  dropped,  // none, names created or removed since the directory was synced included
  torn,     // all but the last, and of that the first half
  mixed,    // each 512-byte sector and each name by chance
};

struct Fault {
  enum class Kind {
    none,
    cut,           // the power goes at change `at` (write, sync, truncate, remove, create)
    error_once,    // call `at` of any kind answers an error
    error_always,  // that one and all later ones
    full_once,     // write `at` finds no space
    full_always,   // no file grows from write `at` on, until make_room()
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
  // Copies the files too.
  Disk(const Disk& other) { *this = other; }
  Disk& operator=(const Disk& other);

  // Starts counting anew, with this fault to come.
  void arm(const Fault& fault);
  // The armed fault has happened.
  bool fired() const { return fired_; }
  bool is_cut() const { return cut_; }
  // Calls a fault can hit so far: changes, writes or all, as the kind counts.
  std::uint64_t counted() const { return counted_; }
  void make_room() { capacity_ = kUnlimited; }
  // Syncs answer ok and do nothing, until the restart.
  void lie_about_syncs() { lies_ = true; }

  // What the next process finds: after a cut what the fate left, else everything written so far. Nothing is armed.
  Disk restarted() const;
  // The power goes now, between two calls.
  Disk after_power_cut(Fate fate, std::uint64_t seed) const;

  // Null when the call failed, or there is no such file and `create` is false.
  FileRef open(const std::string& name, bool create);
  Answer read(const File& file, std::uint64_t offset, char* bytes, std::uint64_t count, std::uint64_t& got);
  Answer write(File& file, std::uint64_t offset, std::string_view bytes);
  Answer truncate(File& file, std::uint64_t size);
  Answer sync(File& file);
  Answer size(const File& file, std::uint64_t& bytes);
  Answer remove(const std::string& name);
  Answer exists(const std::string& name, bool& found);
  Answer sync_names();
  // Space for a file of zeros of this size.
  Answer allocate(const std::string& name, std::uint64_t bytes);
  std::uint64_t free_bytes() const;

 private:
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  using Names = std::map<std::string, FileRef>;
  enum class Call { look, change, write };

  Answer enter(Call call);
  std::uint64_t used() const;
  Names survivors(Fate fate, std::uint64_t seed) const;
  void cut();

  Names names_;         // as a process sees them
  Names synced_names_;  // as a power cut leaves them at least
  Names left_;          // after the cut
  Fault fault_;
  std::uint64_t counted_ = 0;
  std::uint64_t capacity_ = kUnlimited;
  bool fired_ = false;
  bool cut_ = false;
  bool cutting_ = false;  // the change that has been entered is the last one
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
