#include "firmware-host/gateway/broker_tls.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "firmware-host/gateway/authority.h"
#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/loopback_address.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

void add(std::vector<std::string>& names, const std::string& name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// Names and addresses by which devices were enrolled, and which nobody else tells: one in each line.
std::string enrolled_names(const std::string& dir) { return dir + "/enrolled.names"; }
// What the certificate names.
std::string record_of_names(const std::string& dir) { return dir + "/server.names"; }

void add_enrolled(std::vector<std::string>& names, const std::string& dir) {
  std::ifstream lines(enrolled_names(dir));
  for (std::string line; std::getline(lines, line);) add(names, line);
}

// The record afterwards: without it, a certificate is made again.
Status issue_and_record(const Authority& authority, const std::string& dir, const std::vector<std::string>& names) {
  const Status issued = authority.issue_to_server(names);
  return issued.is_success() ? write_private_file(record_of_names(dir), subject_names(names) + "\n") : issued;
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
  std::vector<std::string> all = names;
  add_enrolled(all, dir);
  if (has_authority && fs::exists(certificate)) {
    if (!is_clock_set(RealClock().wall())) return false;  // looked at again once it is
    const std::set<std::string> has = parts_of(read_line(record_of_names(dir)));
    const std::set<std::string> needs = parts_of(subject_names(all));
    const Result<bool> is_ending = expires_within(certificate, kRenewBeforeSeconds);
    if (!is_ending) return is_ending.error();
    const Result<std::string> begin = not_valid_until(certificate);
    if (!begin) return begin.error();
    const bool is_valid = !*is_ending && begin->empty();
    if (is_valid && std::includes(has.begin(), has.end(), needs.begin(), needs.end())) return false;
  }
  if (const Status issued = issue_and_record(*authority, dir, all); !issued.is_success()) return issued;
  return true;
}

Result<bool> settle_revocations(const std::string& dir) {
  const Result<Authority> authority = Authority::open(dir, "ca");
  if (!authority) return authority.error();
  return authority->mend_list();
}

std::string problem_of_authority(const std::string& dir) {
  const std::string certificate = dir + "/ca.crt";
  if (!fs::exists(certificate) || !is_clock_set(RealClock().wall())) return {};
  const Result<std::string> begin = not_valid_until(certificate);
  if (!begin) return begin.error().message();
  if (begin->empty()) return {};
  return "the authority " + certificate + " is valid from " + *begin +
         " only: it was made while this machine's clock was ahead, and devices whose clocks are right refuse it; set "
         "the "
         "clock, or move " +
         dir + " away and enroll all devices again with --replace";
}

Result<bool> add_server_name(const std::string& dir, const std::string& name) {
  const std::string certificate = dir + "/server.crt";
  const Result<bool> has = is_certificate_for(certificate, name);
  if (!has || *has) return has ? Result<bool>(false) : has.error();
  const Result<std::optional<std::vector<std::string>>> issued = names_issued(certificate);
  if (!issued) return issued.error();
  if (!*issued || !fs::exists(dir + "/ca.key")) {
    return Status::error(certificate + " does not name " + name +
                         ", and cannot be made again here, since it is your own: give it that subjectAltName, "
                         "or use an address that it names");
  }
  const Result<Authority> authority = Authority::open(dir, "ca");
  if (!authority) return authority.error();
  std::vector<std::string> enrolled, all = **issued;
  add_enrolled(enrolled, dir);
  add(enrolled, name);
  add(all, name);
  std::string text;
  for (const std::string& each : enrolled) text += each + "\n";
  // First of all: berthd may make the certificate again meanwhile.
  Status done = write_private_file(enrolled_names(dir), text);
  if (done.is_success()) done = issue_and_record(*authority, dir, all);
  if (!done.is_success()) return done;
  return true;
}

}  // namespace berth
