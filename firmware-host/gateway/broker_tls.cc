#include "firmware-host/gateway/broker_tls.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "firmware-host/gateway/authority.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/loopback_address.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

void add(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string text_of_address(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&v6)) ::inet_ntop(AF_INET6, &v6, text, sizeof text);
  }
  return text;
}

std::set<std::string> parts_of(const std::string& names) {
  std::set<std::string> parts;
  std::istringstream text(names);
  for (std::string part; std::getline(text, part, ',');) parts.insert(part);
  return parts;
}

}  // namespace

bool served_plaintext(std::string_view config) {
  // Devices have the first listener.
  std::istringstream lines{std::string(config)};
  int listeners = 0;
  bool beyond = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, port, address;
    words >> key >> port >> address;
    if (key == "listener" && ++listeners == 1) beyond = !is_loopback(address);
    if (key == "listener" && listeners > 1) break;
    if (key == "certfile") return false;
  }
  return beyond;
}

std::vector<std::string> names_of_machine(const std::vector<std::string>& configured) {
  std::vector<std::string> names = configured;
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) == 0) add(names, host);
  add(names, "localhost");
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) == 0) {
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
      if (each->ifa_addr != nullptr && (each->ifa_flags & IFF_UP) != 0) add(names, text_of_address(each->ifa_addr));
    }
    ::freeifaddrs(first);
  }
  add(names, "127.0.0.1");
  return names;
}

Result<bool> settle_server_certificate(const std::string& dir, const std::vector<std::string>& names) {
  const bool has_authority = fs::exists(dir + "/ca.crt");
  const Result<Authority> authority = Authority::open(dir, "ca");
  if (!authority) return authority.error();
  const std::string certificate = dir + "/server.crt";
  const std::string record = dir + "/server.names";
  const std::string wanted = subject_names(names);
  if (has_authority && fs::exists(certificate)) {
    if (!is_clock_set(RealClock().wall())) return false;  // looked at again once it is
    const std::set<std::string> has = parts_of(read_line(record));
    const std::set<std::string> needs = parts_of(wanted);
    const Result<bool> is_ending = expires_within(certificate, kRenewBeforeSeconds);
    if (!is_ending) return is_ending.error();
    if (!*is_ending && std::includes(has.begin(), has.end(), needs.begin(), needs.end())) return false;
  }
  // The record afterwards: without it, a certificate is made again.
  if (const Status issued = authority->issue_to_server(names); !issued.is_success()) return issued;
  if (const Status written = write_private_file(record, wanted + "\n"); !written.is_success()) return written;
  return true;
}

}  // namespace berth
