#include "firmware-host/agent/images/image_config.h"

#include <algorithm>
#include <charconv>

#include "core/ascii.h"
#include "core/json/field_reader.h"
#include "firmware-host/agent/images/image_fields.h"
#include "firmware-host/agent/images/image_reference.h"

namespace berth {

namespace {

constexpr int kHighestPort = 65535;
constexpr std::size_t kLongestSignal = 32;

// "port/tcp", "port/udp", "port"; sctp since Docker 18.09.
bool is_exposed_port(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view protocol = text.substr(slash);
  int port = 0;
  const std::string number(text.substr(0, slash));
  const char* end = number.data() + number.size();
  const auto [at, error] = std::from_chars(number.data(), end, port);
  return error == std::errc() && at == end && port >= 1 && port <= kHighestPort &&
         (protocol.empty() || protocol == "/tcp" || protocol == "/udp" || protocol == "/sctp");
}

// "SIGNAME", "SIGRTMIN+3" or a number.
bool is_stop_signal(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '+' || c == '-'; };
  return text.size() <= kLongestSignal && std::ranges::all_of(text, fits);
}

bool is_env(std::string_view text) {
  const std::size_t equals = text.find('=');
  return equals != std::string_view::npos && equals > 0;
}

bool is_absolute_or_empty(std::string_view path) { return path.empty() || path.front() == '/'; }

bool is_directory_name(std::string_view text) { return !text.empty(); }

bool is_user(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

void check_each(FieldReader& fields, std::string_view key, const std::vector<std::string>& values,
                std::string_view what, bool (*is_right)(std::string_view)) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_right(values[i])) continue;
    fields.findings().error(item_path(fields.path_of(key), i),
                            "expected " + std::string(what) + ", got " + show_found(Json(values[i])));
  }
}

void read_process(FieldReader& config, ImageConfig& into) {
  config.read_list("Entrypoint", into.entrypoint);
  config.read_list("Cmd", into.cmd);
  config.read_list("Env", into.env);
  check_each(config, "Env", into.env, "NAME=value", is_env);
  config.read_checked("WorkingDir", into.working_dir, is_absolute_or_empty, "an absolute path");
  config.read_checked("User", into.user, is_user, "a user, uid, or one of them with :group or :gid");
  config.read_checked("StopSignal", into.stop_signal, is_stop_signal, "a signal such as SIGTERM");
  config.read_keys("ExposedPorts", into.exposed_ports);
  check_each(config, "ExposedPorts", into.exposed_ports, "PORT, PORT/tcp, PORT/udp or PORT/sctp", is_exposed_port);
  config.read_keys("Volumes", into.volumes);
  check_each(config, "Volumes", into.volumes, "a directory", is_directory_name);
  config.read_strings("Labels", into.labels);
}

void read_rootfs(FieldReader& rootfs, ImageConfig& into) {
  std::string type;
  // "Implementations MUST generate an error if they encounter an unknown value."
  require_checked(rootfs, "type", type, [](std::string_view text) { return text == "layers"; }, "\"layers\"");
  rootfs.read_list("diff_ids", into.diff_ids);
  check_each(rootfs, "diff_ids", into.diff_ids, "a sha256 digest", is_sha256_digest);
  if (into.diff_ids.empty() || into.diff_ids.size() > ImageConfig::kMostLayers) {
    rootfs.error("diff_ids", "expected the digests of 1 to " + std::to_string(ImageConfig::kMostLayers) +
                                 " layers, got " + std::to_string(into.diff_ids.size()));
  }
}

}  // namespace

Result<ImageConfig> read_image_config(std::string_view json) {
  const auto named = [](const std::string& fault) { return Status::error("image config: " + fault); };
  const Result<Json> parsed = Json::parse(json, {.bytes = ImageConfig::kMostBytes, .depth = 64});
  if (!parsed) return named(parsed.error().message());
  Findings findings(Findings::Bounds{.entries = ImageConfig::kMostEntries, .bytes = ImageConfig::kLongestString});
  FieldReader root(*parsed, "", findings);
  ImageConfig config;
  require_text(root, "architecture", config.architecture);
  require_text(root, "os", config.os);
  root.read_string("variant", config.variant);
  root.read_object("config", [&](FieldReader& process) { read_process(process, config); });
  root.require("rootfs", "an object");
  root.read_object("rootfs", [&](FieldReader& rootfs) { read_rootfs(rootfs, config); });
  if (findings.has_errors()) return named(findings.status().message());
  return config;
}

}  // namespace berth
