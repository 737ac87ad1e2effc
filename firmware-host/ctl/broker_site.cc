#include "firmware-host/ctl/broker_site.h"

#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>

#include "firmware-host/ctl/accounts.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnDir = "/etc/berth/mosquitto/conf.d";
constexpr const char* kJoinedDir = "/etc/mosquitto/conf.d";
constexpr const char* kOwnHeader = "# Berth's broker";  // the first line of the package's mosquitto.conf
constexpr int kPlainPort = 1883, kMachineTlsPort = 8883, kOwnTlsPort = 8893;

bool is_joined(const std::string& mosquitto_dir) { return fs::exists(mosquitto_dir + "/berth.conf"); }

}  // namespace

std::string default_mosquitto_dir() {
  return is_joined(kJoinedDir) || !fs::is_directory(kOwnDir) ? kJoinedDir : kOwnDir;
}

BrokerSite broker_site(const EnrollOptions& options) {
  const std::string& dir = options.mosquitto_dir;
  const std::string main = content_of(dir + "/../mosquitto.conf");
  const bool is_own = !is_joined(dir) && main.starts_with(kOwnHeader);
  const int plain = first_port_in(is_own ? main : content_of(dir + "/berth.conf"));
  const int tls = first_port_in(content_of(dir + "/berth.tls.conf"));
  return {.unit = is_own ? "berth-mosquitto" : "mosquitto",
          .plain_port = plain > 0 ? plain : kPlainPort,
          .tls_port = tls > 0  ? tls
                      : is_own ? kOwnTlsPort
                               : kMachineTlsPort};
}

int port_in_use(int first, int count) {
  int found = 0;
  for (int port = first; port < first + count && found == 0; ++port) {
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return 0;
    const int on = 1;  // only listeners are in the way, not what remains of connections
    static_cast<void>(::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::bind(probe, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 && errno == EADDRINUSE) found = port;
    ::close(probe);
  }
  return found;
}

int first_port_in(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line, key; std::getline(lines, line);) {
    int port = 0;
    if (std::istringstream(line) >> key >> port && key == "listener") return port;
  }
  return 0;
}

std::optional<gid_t> broker_group(const std::string& broker_dir) {
  struct stat found{};
  if (::stat(broker_dir.c_str(), &found) == 0 && (found.st_mode & S_ISGID) != 0) return found.st_gid;
  const group* broker = ::getgrnam("mosquitto");
  if (broker == nullptr) return std::nullopt;
  return broker->gr_gid;
}

}  // namespace berth
