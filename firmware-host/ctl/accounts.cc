#include "firmware-host/ctl/accounts.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "firmware-host/ctl/broker_site.h"
#include "firmware-host/ctl/embedded.h"
#include "firmware-host/gateway/broker_config.h"
#include "firmware-host/gateway/broker_process.h"

namespace berth {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::string(std::istreambuf_iterator<char>(file), {}) : std::string();
}

// The broker drops root privileges before it reads its files again, so its group needs access.
Status write_for_broker(const std::string& path, const std::string& text) {
  if (Status written = write_private_file(path, text); !written.is_success()) return written;
  const std::optional<gid_t> broker = broker_group(fs::path(path).parent_path().string());
  if (!broker || ::geteuid() != 0) return Status::ok();
  std::error_code error;
  if (::chown(path.c_str(), 0, *broker) == 0) {
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read, error);
  }
  return error ? Status::error(path + ": " + error.message()) : Status::ok();
}

// The role that the ACL names behind "user name"; empty: none, it is new or was enrolled by an earlier version.
std::string role_in(const std::string& access, const std::string& name) {
  const std::string begin = "user " + name + "\n" + std::string(kRoleLine);
  const std::size_t at = access.starts_with(begin) ? 0 : access.find("\n" + begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size() + (access.starts_with(begin) ? 0 : 1);
  return access.substr(from, access.find('\n', from) - from);
}

// Lines "name:hash"; drops the line of this name.
std::string without_password(const std::string& text, const std::string& name) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string present = text.substr(at, end - at);
    if (!present.empty() && !present.starts_with(name + ":")) result += present + "\n";
    at = end + 1;
  }
  return result;
}

// Blocks that begin with "user name" and end with an empty line; drops the block of this name.
std::string without_access(const std::string& text, const std::string& name) {
  std::string result;
  bool mine = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("user ")) mine = line == "user " + name;
    if (!mine) result += line + "\n";
    at = end + 1;
  }
  return result;
}

void reload_broker(const EnrollOptions& options, bool restart, const Screen& screen) {
  if (!options.reload) return;
  if (is_embedded(options)) return reload_embedded(options, restart, screen);
  const Result<std::string> tool = find_program("systemctl");
  const std::string unit = broker_site(options).unit;
  if (!tool || !run_program({*tool, "is-active", "--quiet", unit}).is_success()) return;
  const std::string verb = restart ? "restart" : "reload";
  if (Status done = run_program({*tool, verb, unit}); !done.is_success()) {
    screen.err << "cannot " << verb << " " << unit << ": " << done.message() << "; run: systemctl " << verb << " "
               << unit << "\n";
  }
}

}  // namespace berth
