#include "firmware-host/gateway/installation.h"

#include <filesystem>

#include "firmware-host/state_directory.h"
#include "storage/paths.h"

namespace berth {

namespace {

std::string mark_of(const std::string& state_dir) { return state_dir + "/" + kNewInstallation; }
std::string store_of(const std::string& state_dir) { return state_dir + "/gateway.db"; }
std::string store_mark_of(const std::string& state_dir) { return state_dir + "/gateway.mark"; }

bool exists(const std::string& path) {
  std::error_code error;
  // What cannot be looked at may be there.
  return std::filesystem::exists(path, error) || error;
}

}  // namespace

bool is_unused_directory(const std::string& path) {
  std::error_code error;
  const std::filesystem::directory_iterator first(path, error);
  if (error) return error == std::errc::no_such_file_or_directory;
  return first == std::filesystem::directory_iterator();
}

Status mark_new_installation(const std::string& state_dir) {
  if (Status created = create_private_file(mark_of(state_dir)); !created.is_success()) return created;
  return sync_directory_of(mark_of(state_dir));
}

bool is_new_installation(const std::string& state_dir) {
  std::error_code error;
  return std::filesystem::exists(mark_of(state_dir), error) && !exists(store_mark_of(state_dir)) &&
         stores_aside(store_of(state_dir)).empty();
}

void unmark_new_installation(const std::string& state_dir) { remove_file(mark_of(state_dir)); }

Status init_installation(const std::string& state_dir) {
  const Result<StateDirectory> directory = StateDirectory::open(state_dir);
  if (!directory) return directory.error();
  if (exists(store_of(state_dir))) {
    return Status::error(state_dir + " has a store already; to begin without it, move " + store_of(state_dir) +
                         " away and run this again");
  }
  remove_file(store_mark_of(state_dir));
  return mark_new_installation(state_dir);
}

}  // namespace berth
