#include "firmware-host/agent/oci/pod_files.h"

#include <algorithm>
#include <cstddef>

#include "core/json/members.h"

namespace berth {

namespace {

// core/validation: MaxDNSNameservers, MaxDNSSearchPaths, MaxDNSSearchListChars
constexpr std::size_t kNameservers = 3;
constexpr std::size_t kSearchPaths = 32;
constexpr std::size_t kSearchBytes = 2048;

struct Resolver {
  std::vector<std::string> nameservers, searches, options;
};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

// resolv.conf(5): the last search line counts.
Resolver parse(std::string_view text) {
  Resolver resolver;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.size() < 2 || words[0].starts_with('#') || words[0].starts_with(';')) continue;
    const std::string keyword = words.front();
    words.erase(words.begin());
    if (keyword == "nameserver") {
      resolver.nameservers.push_back(words.front());
    } else if (keyword == "search" || keyword == "domain") {
      resolver.searches = std::move(words);
    } else if (keyword == "options") {
      resolver.options = std::move(words);
    }
  }
  return resolver;
}

bool has_blanks(const std::string& text) { return text.find_first_of(" \t\n\r") != std::string::npos; }

void add_new(std::vector<std::string>& texts, const std::string& text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
}

// "ndots:5" and "ndots:2" are the same option.
std::string_view name_of(std::string_view option) { return option.substr(0, option.find(':')); }

Status add_texts(const Json& config, const char* field, std::vector<std::string>& texts) {
  for (const Json& each : list_of(config, field)) {
    if (!each.is_string() || has_blanks(each.as_string())) {
      return Status::error(std::string("spec.dnsConfig.") + field + ": must be a list of texts without blanks");
    }
    add_new(texts, each.as_string());
  }
  return Status::ok();
}

Status add_options(const Json& config, std::vector<std::string>& options) {
  for (const Json& each : list_of(config, "options")) {
    const std::string name = each.string_at("name");
    const std::string value = each.string_at("value");
    if (name.empty() || has_blanks(name + value)) {
      return Status::error("spec.dnsConfig.options: each needs a name, and neither it nor the value has blanks");
    }
    std::erase_if(options, [&](const std::string& option) { return name_of(option) == name; });
    options.push_back(value.empty() ? name : name + ":" + value);
  }
  return Status::ok();
}

void append_line(std::string& text, const char* keyword, const std::vector<std::string>& words) {
  if (words.empty()) return;
  text += keyword;
  for (const std::string& word : words) text += " " + word;
  text += '\n';
}

Result<std::string> aliases_of(const Json& spec) {
  std::string text;
  for (const Json& alias : list_of(spec, "hostAliases")) {
    std::string line = alias.string_at("ip");
    for (const Json& name : list_of(alias, "hostnames")) {
      if (!name.is_string() || has_blanks(name.as_string()) || has_blanks(alias.string_at("ip"))) {
        return Status::error("spec.hostAliases: ip and hostnames must be texts without blanks");
      }
      line += "\t" + name.as_string();
    }
    if (line.find('\t') != std::string::npos) text += line + "\n";
  }
  return text.empty() ? text : "\n# Entries added by HostAliases.\n" + text;
}

}  // namespace

std::string hostname_of(const Json& pod) {
  constexpr std::size_t kLongest = 63;  // validation: DNS1123LabelMaxLength
  std::string name = member(pod, "spec").string_at("hostname");
  if (name.empty()) name = member(pod, "metadata").string_at("name");
  if (name.size() <= kLongest) return name;
  name.resize(kLongest);
  while (name.ends_with('-') || name.ends_with('.')) name.pop_back();
  return name;
}

Result<std::string> hosts_file(const Json& pod, std::string_view machine, const std::string& address) {
  const Json& spec = member(pod, "spec");
  const Result<std::string> aliases = aliases_of(spec);
  if (!aliases) return aliases.error();
  if (member(spec, "hostNetwork") == Json(true)) {
    return "# Kubernetes-managed hosts file (host network).\n" + std::string(machine) + *aliases;
  }
  std::string text =
      "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n"
      "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n";
  if (!address.empty()) text += address + "\t" + hostname_of(pod) + "\n";
  return text + *aliases;
}

bool is_resolver_stub(std::string_view text) {
  return parse(text).nameservers == std::vector<std::string>{"127.0.0.53"};
}

Result<std::string> resolver_file(const Json& pod, std::string_view machine) {
  const Json& spec = member(pod, "spec");
  const Json& config = member(spec, "dnsConfig");
  Resolver resolver;
  if (spec.string_at("dnsPolicy") != "None") resolver = parse(machine);
  if (Status added = add_texts(config, "nameservers", resolver.nameservers); !added.is_success()) return added;
  if (Status added = add_texts(config, "searches", resolver.searches); !added.is_success()) return added;
  if (Status added = add_options(config, resolver.options); !added.is_success()) return added;
  if (resolver.nameservers.empty() && spec.string_at("dnsPolicy") == "None") {
    return Status::error("spec.dnsConfig.nameservers: dnsPolicy None needs at least one");
  }
  // Those beyond the limits of the C library are left out (dns.go formDNSConfigFitsLimits).
  if (resolver.nameservers.size() > kNameservers) resolver.nameservers.resize(kNameservers);
  if (resolver.searches.size() > kSearchPaths) resolver.searches.resize(kSearchPaths);
  std::size_t bytes = 0;
  const auto too_long = std::find_if(resolver.searches.begin(), resolver.searches.end(), [&](const std::string& each) {
    bytes += each.size() + 1;
    return bytes > kSearchBytes + 1;
  });
  resolver.searches.erase(too_long, resolver.searches.end());
  std::string text;
  append_line(text, "search", resolver.searches);
  for (const std::string& server : resolver.nameservers) append_line(text, "nameserver", {server});
  append_line(text, "options", resolver.options);
  return text;
}

}  // namespace berth
