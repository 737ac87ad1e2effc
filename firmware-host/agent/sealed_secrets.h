// SealedSecrets: what SecretFiles keeps, and beside it on flash a copy of each that only this machine can read, made by
// systemd-creds(1). After a reboot pods have their Secrets without the gateway.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "firmware-host/agent/images/child_task.h"
#include "firmware-host/agent/secret_files.h"

namespace berth {

class SealedSecrets final : public VolatileStore {
 public:
  // `directory` is made with the first Secret, for its owner alone. Nothing is sealed without `program`, by another
  // user than root, or where `files` cannot be used; the log tells once. All but the strings outlive it.
  SealedSecrets(SecretFiles& files, std::string directory, asio::io_context& context, Log& log,
                std::string program = "systemd-creds");

  // Waits, at most kUnsealMs, until what is only sealed is in `files`: call it before the loop runs. What cannot be
  // unsealed stays until the Secret comes or goes, and the log names the reason.
  std::map<std::string, std::string> load() override;
  // `value` is a record of DeviceObjects: its first word is a hash of the rest. It is sealed by a child; one of the
  // same hash is not written again.
  void put(const std::string& key, const std::string& value) override;
  void erase(const std::string& key) override;
  void clear() override;

  // The file of a record, which is also the name that it is bound to: of digests of the key, and of the value's hash,
  // which is under a key of the gateway's (N13), so that nobody can try contents by it.
  static std::string file_name(const std::string& key, std::string_view value);

 private:
  static constexpr int kUnsealMs = 20'000;  // of all together
  static constexpr unsigned kSealSeconds = 60;

  bool can_seal();
  void give_up(const std::string& reason);
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  std::vector<std::string> names() const;
  std::vector<std::string> only_sealed(const std::map<std::string, std::string>& found) const;
  void unseal(const std::vector<std::string>& names);
  void seal(const std::string& key, const std::string& value);
  void remove_of(const std::string& key, const std::string& kept = {});
  void start_next();
  void on_sealed(const ChildEnd& end);

  SecretFiles& files_;
  const std::string directory_;
  asio::io_context& context_;
  Log& log_;
  const std::string program_;
  bool has_given_up_ = false;
  std::set<std::string> unreadable_;  // names of files that could not be unsealed: sealed once more when they come
  std::map<std::string, std::string> waiting_;  // values by key
  std::string sealing_;                         // the key of the task's
  std::unique_ptr<ChildTask> task_;             // null: none runs
};

}  // namespace berth
