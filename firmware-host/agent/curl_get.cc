#include "firmware-host/agent/curl_get.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "firmware-host/agent/spawn.h"

namespace berth {

namespace {

constexpr rlim_t kSecondsOfProcessor = 30;  // a handshake takes a second on a slow ARM processor
constexpr rlim_t kBytesOfMemory = 64 << 20;

Status error_of(const char* what) { return Status::error(std::string(what) + ": " + std::strerror(errno)); }

// curl(1), "--config": within quotes a backslash escapes.
std::string config_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string config_of(const std::string& url, const CurlGet::Headers& headers) {
  std::string text =
      "silent\nshow-error\ninsecure\nhttp1.1\ngloboff\npath-as-is\nno-buffer\nnoproxy = \"*\"\noutput = \"/dev/null\"\n"
      "dump-header = \"-\"\n";
  text += "url = " + config_text(url) + "\n";
  for (const auto& [name, value] : headers) {
    // "Name;" sends a header without a value, "Name:" takes one of curl's own away.
    const bool is_own = name == "User-Agent" || name == "Accept" || name == "Host";
    text += "header = " + config_text(value.empty() ? name + (is_own ? ":" : ";") : name + ": " + value) + "\n";
  }
  return text;
}

// By a file in memory: others see the arguments of a process, and headers may have secrets.
Result<Descriptor> file_with(const std::string& text) {
  Descriptor file(memfd_create("curl", MFD_CLOEXEC));
  if (!file) return error_of("memfd_create");
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return error_of("write");
  if (lseek(file.get(), 0, SEEK_SET) != 0) return error_of("lseek");
  return file;
}

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return error_of("pipe");
  Pipe made{Descriptor(ends[0]), Descriptor(ends[1])};
  if (fcntl(made.read.get(), F_SETFL, O_NONBLOCK) != 0) return error_of("fcntl");
  return made;
}

// A server that is met so may answer whatever it likes.
Status limit(pid_t process) {
  const rlimit seconds{kSecondsOfProcessor, kSecondsOfProcessor};
  const rlimit bytes{kBytesOfMemory, kBytesOfMemory};
  const bool is_limited =
      prlimit(process, RLIMIT_CPU, &seconds, nullptr) == 0 && prlimit(process, RLIMIT_DATA, &bytes, nullptr) == 0;
  return is_limited ? Status::ok() : error_of("prlimit");
}

}  // namespace

Result<std::unique_ptr<CurlGet>> CurlGet::start(const HttpsClient& client, const std::string& url,
                                                const Headers& headers) {
  if (client.curl.empty()) return Status::error("there was no curl on this node when the pod was started");
  const Result<Descriptor> config = file_with(config_of(url, headers));
  if (!config) return config.error();
  Result<Pipe> head = make_pipe();
  if (!head) return head.error();
  Result<Pipe> errors = make_pipe();
  if (!errors) return errors.error();
  const std::vector<std::string> environment{"BERTH_TAG=" + client.tag};
  const Result<pid_t> process = spawn(client.curl, {"curl", "--disable", "--config", "-"}, &environment,
                                      {config->get(), head->write.get(), errors->write.get()});
  if (!process) return process.error();
  std::unique_ptr<CurlGet> made(new CurlGet);
  made->process_ = *process;
  made->head_ = std::move(head->read);
  made->errors_ = std::move(errors->read);
  if (Status limited = limit(*process); !limited.is_success()) return limited;
  return made;
}

// Whoever reaps the keeper's children finds it.
CurlGet::~CurlGet() {
  if (process_ > 0) kill(process_, SIGKILL);
}

bool CurlGet::take_exit(pid_t pid) {
  if (pid != process_) return false;
  process_ = -1;
  return true;
}

// "curl: (7) Failed to connect to 10.0.0.1 port 8443: Connection refused"
std::string CurlGet::why() const {
  std::array<char, 512> text{};
  const ssize_t n = read(errors_.get(), text.data(), text.size());
  std::string said(text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  said.erase(std::min(said.find('\n'), said.size()));
  if (const std::size_t code = said.find(") "); said.starts_with("curl: (") && code != std::string::npos) {
    said.erase(0, code + 2);
  }
  return said.empty() ? "EOF" : said;
}

}  // namespace berth
