#include "firmware-host/agent/images/image_config.h"

#include <algorithm>
#include <charconv>

#include "core/ascii.h"
#include "firmware-host/agent/images/image_reference.h"
#include "firmware-host/agent/images/json_fields.h"

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

bool is_env(const std::string& text) {
  const std::size_t equals = text.find('=');
  return equals != std::string::npos && equals > 0;
}

bool is_user(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

void check_each(JsonFields& fields, std::string_view name, const std::vector<std::string>& values,
                const std::string& what, bool (*is_right)(const std::string&)) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_right(values[i])) {
      fields.fail(fields.path_of(name) + "[" + std::to_string(i) + "]", what + ", got \"" + values[i] + "\"");
    }
  }
}

void read_process(JsonFields config, ImageConfig& into) {
  into.entrypoint = config.strings("Entrypoint");
  into.cmd = config.strings("Cmd");
  into.env = config.strings("Env");
  check_each(config, "Env", into.env, "NAME=value", is_env);
  into.working_dir = config.string("WorkingDir");
  if (!into.working_dir.empty() && into.working_dir.front() != '/') {
    config.fail(config.path_of("WorkingDir"), "an absolute path, got \"" + into.working_dir + "\"");
  }
  into.user = config.string("User");
  if (!is_user(into.user)) config.fail(config.path_of("User"), "a user, uid, or one of them with :group or :gid");
  into.stop_signal = config.string("StopSignal");
  if (!is_stop_signal(into.stop_signal)) {
    config.fail(config.path_of("StopSignal"), "a signal such as SIGTERM, got \"" + into.stop_signal + "\"");
  }
  into.exposed_ports = config.keys("ExposedPorts");
  check_each(config, "ExposedPorts", into.exposed_ports, "PORT, PORT/tcp, PORT/udp or PORT/sctp",
             [](const std::string& text) { return is_exposed_port(text); });
  into.volumes = config.keys("Volumes");
  check_each(config, "Volumes", into.volumes, "a directory", [](const std::string& text) { return !text.empty(); });
  into.labels = config.map("Labels");
}

}  // namespace

Result<ImageConfig> read_image_config(std::string_view json) {
  const auto named = [](const std::string& fault) { return Status::error("image config: " + fault); };
  const Result<Json> parsed = Json::parse(json, {.bytes = ImageConfig::kMostBytes, .depth = 64});
  if (!parsed) return named(parsed.error().message());
  Status fault;
  JsonFields root(&*parsed, "", {.entries = ImageConfig::kMostEntries, .string = ImageConfig::kLongestString}, fault);
  ImageConfig config;
  config.architecture = root.string("architecture", true);
  config.os = root.string("os", true);
  config.variant = root.string("variant");
  read_process(root.object("config"), config);
  JsonFields rootfs = root.object("rootfs", true);
  // "Implementations MUST generate an error if they encounter an unknown value."
  if (const std::string type = rootfs.string("type"); type != "layers") {
    rootfs.fail(rootfs.path_of("type"), "\"layers\", got \"" + type + "\"");
  }
  config.diff_ids = rootfs.strings("diff_ids");
  check_each(rootfs, "diff_ids", config.diff_ids, "a sha256 digest",
             [](const std::string& text) { return is_sha256_digest(text); });
  if (config.diff_ids.empty() || config.diff_ids.size() > ImageConfig::kMostLayers) {
    rootfs.fail(rootfs.path_of("diff_ids"), "the digests of 1 to " + std::to_string(ImageConfig::kMostLayers) +
                                                " layers, got " + std::to_string(config.diff_ids.size()));
  }
  if (!fault.is_success()) return named(fault.message());
  return config;
}

}  // namespace berth
