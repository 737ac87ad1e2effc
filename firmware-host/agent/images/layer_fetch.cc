#include "firmware-host/agent/images/layer_fetch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>
#include <system_error>

#include "core/json/json.h"
#include "core/json/members.h"
#include "firmware-host/agent/images/child_program.h"
#include "firmware-host/agent/images/disk_space.h"
#include "firmware-host/agent/images/image_config.h"
#include "firmware-host/agent/images/registry_auth.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr int kMostParts = 100;      // of one layer in one attempt
constexpr int kWhole = 200;          // HTTP: OK, and not 206, Partial Content
constexpr int kNothingBehind = 416;  // HTTP: Range Not Satisfiable
constexpr int kLockTries = 300;
constexpr useconds_t kLockPauseUs = 200'000;
constexpr const char* kStallSeconds = "60";
constexpr const char* kConnectSeconds = "30";
constexpr useconds_t kPauseUs = 200'000;  // before a transfer that broke goes on

// 0: it does not begin with one.
std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? number : 0;
}

std::int64_t size_of(const std::string& path) {
  struct stat is{};
  return stat(path.c_str(), &is) == 0 ? is.st_size : 0;
}

std::int64_t size_of(int fd) {
  struct stat is{};
  return fstat(fd, &is) == 0 ? is.st_size : 0;
}

// In the child. Its methods wait.
class Fetcher {
 public:
  Fetcher(LayerFetch fetch, FetchCounters& counters, int text_fd)
      : fetch_(std::move(fetch)), counters_(counters), text_fd_(text_fd) {}

  int run() {
    const ProgramEnd inspected = run_program({fetch_.inspect, {}, fetch_.inspect_secret});
    if (inspected.code != 0) return fail(inspected.error);
    std::vector<std::string> missing = missing_layers(inspected.output);
    if (missing.empty()) return LayerFetch::kAllHere;
    if (missing.size() > ImageConfig::kMostLayers) return fail("it has too many layers");
    if (fetch_.left != nullptr && *fetch_.left <= 0) return LayerFetch::kUsedUp;
    if (!log_in()) return LayerFetch::kLeftToSkopeo;
    count(missing);
    for (const std::string& digest : missing) {
      // Each time: pods, and other pulls, write to the disk too.
      const Status space = check_space(fetch_.partial, bytes_to_come(), fetch_.limits.kept_free);
      if (!space.is_success()) return fail(space.message(), LayerFetch::kNoSpace);
      if (const int code = fetch_layer(digest); code != LayerFetch::kAllHere) return code;
    }
    return LayerFetch::kAllHere;
  }

 private:
  int fail(const std::string& why, int code = LayerFetch::kFailed) const {
    write_text(text_fd_, why);
    return code;
  }

  std::string blob(const std::string& digest) const { return fetch_.blobs + "/sha256/" + digest.substr(7); }
  std::string partial(const std::string& digest) const { return fetch_.partial + "/" + digest.substr(7); }

  // Of "Layers" of skopeo-inspect(1), each once.
  std::vector<std::string> missing_layers(const std::string& inspected) const {
    std::vector<std::string> missing;
    const Result<Json> json = Json::parse(inspected, {.bytes = ImageConfig::kMostBytes, .depth = 16});
    if (!json) return missing;
    for (const Json& layer : list_of(*json, "Layers")) {
      const std::string digest = layer.is_string() ? layer.as_string() : std::string();
      const bool is_known = std::find(missing.begin(), missing.end(), digest) != missing.end();
      if (is_sha256_digest(digest) && !is_known && access(blob(digest).c_str(), F_OK) != 0) missing.push_back(digest);
    }
    return missing;
  }

  std::vector<std::string> curl(std::initializer_list<std::string> more) const {
    std::vector<std::string> arguments{fetch_.curl,
                                       "--disable",
                                       "--silent",
                                       "--show-error",
                                       "--location",
                                       "--max-redirs",
                                       "10",
                                       "--globoff",
                                       "--connect-timeout",
                                       kConnectSeconds,
                                       "--speed-time",
                                       kStallSeconds,
                                       "--speed-limit",
                                       "1",
                                       "--proto",
                                       fetch_.is_insecure ? "=http,https" : "=https",
                                       "--config",
                                       "-"};
    if (fetch_.is_insecure) arguments.push_back("--insecure");
    arguments.insert(arguments.end(), more);
    return arguments;
  }

  // Finds out how the registry is reached, and what it wants to hear. False: not as it is done here.
  bool log_in() {
    const std::string host = fetch_.image.domain == "docker.io" ? "registry-1.docker.io" : fetch_.image.domain;
    for (const char* scheme : {"https://", "http://"}) {
      if (scheme == std::string("http://") && !fetch_.is_insecure) break;
      base_ = scheme + host + "/v2/";
      const ProgramEnd asked =
          run_program({curl({"--dump-header", "-", "--output", "/dev/null"}), curl_option("url", base_), {}});
      if (asked.code == 0) return take_challenge(asked.output);
    }
    return false;
  }

  bool take_challenge(const std::string& head) {
    const int status = http_status_of(head);
    const std::optional<RegistryChallenge> challenge = read_challenge(head);
    credentials_.clear();
    if (status == 200) return true;
    if (status != 401 || !challenge) return false;
    if (!challenge->is_bearer) {
      if (fetch_.credential)
        credentials_ = curl_option("user", fetch_.credential->username + ":" + fetch_.credential->password);
      return fetch_.credential.has_value();
    }
    const ProgramEnd asked =
        run_program({curl({"--fail"}), token_request(*challenge, fetch_.image.path, fetch_.credential), {}});
    const std::string token = asked.code == 0 ? read_token(asked.output) : std::string();
    if (!token.empty()) credentials_ = curl_option("oauth2-bearer", token);
    return !token.empty();
  }

  std::string request_for(const std::string& digest) const {
    return curl_option("url", base_ + fetch_.image.path + "/blobs/" + digest) + credentials_;
  }

  // What the registry says about their sizes; it need not.
  void count(const std::vector<std::string>& missing) {
    for (const std::string& digest : missing) {
      const ProgramEnd asked =
          run_program({curl({"--fail", "--head", "--output", "/dev/null", "--write-out", "%header{content-length}"}),
                       request_for(digest),
                       {}});
      const std::int64_t size = asked.code == 0 ? number_of(asked.output) : 0;
      if (size <= 0 || size > fetch_.limits.bytes) continue;
      sizes_[digest] = size;
      counters_.total += size;
      counters_.present += std::min(size, size_of(partial(digest)));
    }
  }

  // Of the layers whose sizes are known. Unpacked they are more, which is looked at then.
  std::int64_t bytes_to_come() const {
    std::int64_t bytes = 0;
    for (const auto& [digest, size] : sizes_) {
      if (access(blob(digest).c_str(), F_OK) != 0) bytes += std::max<std::int64_t>(0, size - size_of(partial(digest)));
    }
    return bytes;
  }

  int fetch_layer(const std::string& digest) {
    const int fd = open(partial(digest).c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return fail("cannot open " + partial(digest) + ": " + std::strerror(errno));
    // Another image may have the same layer: whoever comes second finds it here.
    // But one registry that hardly answers does not hold up the images of another.
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
      if (tries == kLockTries) {
        close(fd);
        return LayerFetch::kLeftToSkopeo;
      }
      usleep(kLockPauseUs);
    }
    const bool is_here = access(blob(digest).c_str(), F_OK) == 0;
    const int code = is_here ? LayerFetch::kAllHere : fetch_rest(digest, fd);
    close(fd);
    return code;
  }

  // `fd`: of what has come of it.
  int fetch_rest(const std::string& digest, int fd) {
    const auto known = sizes_.find(digest);
    const std::int64_t whole = known == sizes_.end() ? -1 : known->second;
    bool has_logged_in = false;
    for (int parts = 0;; ++parts) {
      std::int64_t before = size_of(fd);
      if (whole >= 0 && before > whole) before = restart(fd);
      if (before == whole) return keep(digest, fd);
      if (parts == kMostParts) return fail("layer " + digest + ": the connection broke too often");
      const std::int64_t rest = std::max<std::int64_t>(0, (whole >= 0 ? whole : fetch_.limits.bytes) - before);
      const std::int64_t held = hold(rest);
      if (held < rest && held == 0) return LayerFetch::kUsedUp;
      const Part part = fetch_part(digest, fd, before, before + held);
      if (part.http_status == kNothingBehind || (part.code == 0 && whole < 0 && fetch_.left == nullptr)) {
        return keep(digest, fd);
      }
      // A registry that knows no ranges: what has come begins again behind what was there.
      const bool is_all = before > 0 && part.http_status == kWhole;
      const bool has_grown = size_of(fd) > before;
      if (is_all) restart(fd);
      if (part.code == 0 && !is_all && has_grown) continue;
      if (!has_grown) {
        // A token may have run out meanwhile.
        if (std::exchange(has_logged_in, true) || !log_in()) return fail("layer " + digest + ": " + part.error);
      } else {
        has_logged_in = false;
      }
      usleep(kPauseUs);
    }
  }

  static std::int64_t restart(int fd) {
    if (ftruncate(fd, 0) != 0) return size_of(fd);
    return 0;
  }

  struct Part {
    int code = 0;         // curl's
    int http_status = 0;  // 0: there was no answer
    std::string error;
  };

  // How many of these bytes may be asked for. Nobody else may ask for them until they are given back.
  std::int64_t hold(std::int64_t wanted) {
    if (fetch_.left == nullptr) return wanted;
    std::int64_t left = *fetch_.left;
    std::int64_t held = 0;
    do {
      held = std::clamp<std::int64_t>(left, 0, wanted);
    } while (!fetch_.left->compare_exchange_weak(left, left - held));
    counters_.held = held;
    return held;
  }

  // Asks for no byte that is not held: what is on its way when a connection is closed has been paid for.
  Part fetch_part(const std::string& digest, int fd, std::int64_t before, std::int64_t end) {
    std::int64_t last = before;
    const auto note = [&] {
      const std::int64_t size = size_of(fd);
      const std::int64_t came = std::max<std::int64_t>(0, size - last);
      last = size;
      counters_.fetched += came;
      counters_.present += came;
      if (fetch_.left != nullptr) counters_.held -= came;
    };
    ProgramRun run;
    run.arguments = curl({"--fail", "--range", std::to_string(before) + "-" + std::to_string(end - 1), "--write-out",
                          "%{stderr}%{http_code}"});
    run.input = request_for(digest);
    run.output_fd = fd;
    run.most_file_bytes = before + end;  // of an answer that ignores the range
    const ProgramEnd ended = run_program(run, note);
    note();
    if (fetch_.left != nullptr) *fetch_.left += counters_.held.exchange(0);
    const std::size_t digits = std::min<std::size_t>(3, ended.error.size());
    const std::string status = ended.error.substr(ended.error.size() - digits);
    return {ended.code, static_cast<int>(number_of(status)), ended.error.substr(0, ended.error.size() - digits)};
  }

  // It is whole, as far as can be told without reading it.
  int keep(const std::string& digest, int fd) {
    if (fdatasync(fd) != 0 || std::rename(partial(digest).c_str(), blob(digest).c_str()) != 0) {
      return fail("cannot keep layer " + digest + ": " + std::strerror(errno));
    }
    return LayerFetch::kAllHere;
  }

  LayerFetch fetch_;
  FetchCounters& counters_;
  const int text_fd_;
  std::string base_;         // "https://host/v2/"
  std::string credentials_;  // lines of curl's configuration
  std::map<std::string, std::int64_t> sizes_;
};

bool has_registries(const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin != std::string::npos && line.compare(begin, 10, "[[registry") == 0) return true;
  }
  return false;
}

}  // namespace

ChildTask::Work fetching(LayerFetch fetch, FetchCounters* counters) {
  return [fetch = std::move(fetch), counters](int text_fd) { return Fetcher(fetch, *counters, text_fd).run(); };
}

bool is_configured_for_skopeo(const std::string& registry, const std::string& etc) {
  std::error_code error;
  for (const char* certificates : {"/containers/certs.d/", "/docker/certs.d/"}) {
    if (fs::exists(etc + certificates + registry, error)) return true;
  }
  if (has_registries(etc + "/containers/registries.conf")) return true;
  for (fs::directory_iterator at(etc + "/containers/registries.conf.d", error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".conf" && has_registries(at->path())) return true;
  }
  return false;
}

std::shared_ptr<FetchCounters> shared_counters() {
  void* memory = mmap(nullptr, sizeof(FetchCounters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {new (memory) FetchCounters{}, [](FetchCounters* counters) { munmap(counters, sizeof *counters); }};
}

}  // namespace berth
