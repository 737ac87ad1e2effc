// PoolDisk: the product's PoolFiles in a folder of its own, of which power is cut, or calls fail, together with the
// mounted Disk. What PoolFiles calls is really done, but every change can be taken back until the directory that it was
// made in is synced: what is removed is moved aside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "firmware-host/agent/pool_files.h"
#include "tests/crash/disk.h"
#include "tests/crash/pool_quotas.h"
#include "tests/crash/session.h"

namespace berth::crash {

// Deliberate ones, to verify that they are detected.
struct PoolDefects {
  bool lies = false;           // directories are not synced
  bool follows_links = false;  // what a link leads to goes with it
  bool keeps_limits = false;   // no limit ends with its volume
};

class PoolDisk final : public PoolDirectories {
 public:
  PoolDisk();
  ~PoolDisk() override;
  PoolDisk(const PoolDisk&) = delete;
  PoolDisk& operator=(const PoolDisk&) = delete;

  // Empties the folder; nothing can be taken back any more.
  void reset(const PoolDefects& defects);
  // What the power cut leaves that the mounted disk has met.
  void lose_power(const Fault& cut);
  // As at the start of a program.
  Status open(std::vector<VolumePool>& pools);
  PoolQuotas& quotas() { return quotas_; }
  const PoolQuotas& quotas() const { return quotas_; }
  std::string root() const { return folder_ + "/pool"; }
  std::string outside() const { return folder_ + "/outside"; }  // nobody changes anything there

  Status make(const std::string& root, const std::string& volume, std::int64_t bytes) override;
  Result<bool> is_free(const std::string& root, const std::string& volume) override;
  Status limit(const std::string& root, const std::string& volume, std::int64_t bytes) override;
  Result<bool> remove(const std::string& root, const std::string& volume, int entries) override;
  std::vector<std::string> list(const std::string& root) override;

  // Instead of the system's, for PoolFiles.
  int make_directory(int parent, const char* name, mode_t mode);
  int unlink(int parent, const char* name, int flags);
  int rename(int from, const char* name, int to, const char* new_name);
  int sync(int directory);

 private:
  struct Place {
    int directory = -1;  // an open descriptor
    std::string name;
  };
  struct Change {
    Place before;
    Place now;
  };
  static Place place(int directory, const char* name);
  Place aside();
  void note(Place before, Place now);
  void forget(const Change& change);
  int carry_out(bool grows, const std::function<int()>& call);

  std::string folder_;
  int aside_ = -1;
  std::uint64_t moved_aside_ = 0;
  PoolDefects defects_;
  Notes log_;
  PoolQuotas quotas_{[this] { return root(); }};
  PoolFiles files_{quotas_, log_};
  std::vector<Change> unsynced_;  // in order
};

}  // namespace berth::crash
