#include "firmware-host/agent/oci/image_user.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>

namespace berth {

namespace {

std::optional<std::uint32_t> to_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number <= 0x7FFFFFFF ? std::optional(number) : std::nullopt;
}

// Takes what comes before the separator from the text, and the separator.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view first = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return first;
}

// The fields of each line of a file like /etc/passwd, until `visit` returns false.
template <std::size_t kFields, class Visit>
void visit_lines(std::string_view file, Visit visit) {
  while (!file.empty()) {
    std::string_view line = take_until(file, '\n');
    std::array<std::string_view, kFields> fields;
    for (std::string_view& field : fields) field = take_until(line, ':');
    if (!fields[0].empty() && !visit(fields)) return;
  }
}

// passwd(5): name, password, uid, gid, comment, home.
bool find_in_passwd(std::string_view named, std::string_view passwd, UserIds& ids, std::string& name) {
  const std::optional<std::uint32_t> number = to_number(named);
  bool found = false;
  visit_lines<6>(passwd, [&](const auto& fields) {
    const std::optional<std::uint32_t> user = to_number(fields[2]), group = to_number(fields[3]);
    if (!user || !group || (fields[0] != named && user != number)) return true;
    ids.user = *user;
    ids.group = *group;
    if (!fields[5].empty()) ids.home = fields[5];
    name = fields[0];
    found = true;
    return false;
  });
  if (!found && number) ids.user = *number;
  return found || number;
}

// group(5): name, password, gid, members.
bool find_in_group(std::string_view named, std::string_view groups, std::uint32_t& id) {
  const std::optional<std::uint32_t> number = to_number(named);
  if (number) id = *number;
  bool found = false;
  visit_lines<4>(groups, [&](const auto& fields) {
    const std::optional<std::uint32_t> group = to_number(fields[2]);
    if (!group || fields[0] != named) return true;
    id = *group;
    found = true;
    return false;
  });
  return found || number;
}

void add_memberships(std::string_view name, std::string_view groups, std::vector<std::uint32_t>& ids) {
  visit_lines<4>(groups, [&](const auto& fields) {
    const std::optional<std::uint32_t> group = to_number(fields[2]);
    std::string_view members = fields[3];
    while (group && !members.empty()) {
      if (take_until(members, ',') == name) ids.push_back(*group);
    }
    return true;
  });
}

}  // namespace

Result<UserIds> find_user(std::string_view named, const Security& security, const UserFiles& files) {
  UserIds ids;
  std::string_view group = named;
  const std::string_view image_user = take_until(group, ':');
  const std::string user = security.user   ? std::to_string(*security.user)
                           : named.empty() ? std::string("0")
                                           : std::string(image_user);
  std::string name;
  if (!find_in_passwd(user, files.passwd, ids, name)) {
    return Status::error("image: its user '" + user + "' is not in its /etc/passwd: set securityContext.runAsUser");
  }
  // The image's group belongs to the image's user.
  if (!security.user && !group.empty() && !find_in_group(group, files.group, ids.group)) {
    return Status::error("image: its group '" + std::string(group) +
                         "' is not in its /etc/group: set securityContext.runAsGroup");
  }
  if (security.group) ids.group = *security.group;
  // kuberuntime/security_context.go verifyRunAsNonRoot
  if (security.must_not_be_root && !security.user && !named.empty() && !to_number(image_user)) {
    return Status::error("securityContext.runAsNonRoot: the image's user is a name ('" + std::string(image_user) +
                         "'), which says nothing about root: set runAsUser to its number");
  }
  if (security.must_not_be_root && ids.user == 0) {
    return Status::error("securityContext.runAsNonRoot: the image runs as root: set runAsUser");
  }
  if (!name.empty()) add_memberships(name, files.group, ids.more_groups);
  ids.more_groups.insert(ids.more_groups.end(), security.groups.begin(), security.groups.end());
  std::sort(ids.more_groups.begin(), ids.more_groups.end());
  ids.more_groups.erase(std::unique(ids.more_groups.begin(), ids.more_groups.end()), ids.more_groups.end());
  std::erase(ids.more_groups, ids.group);
  return ids;
}

}  // namespace berth
