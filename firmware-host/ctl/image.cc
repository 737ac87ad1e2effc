// image: sends an archive of images to a device, past the gateway, for devices without a registry; and lists the images
// that a device reports.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/device_command.h"
#include "firmware-host/ctl/fields.h"
#include "firmware-host/ctl/table.h"
#include "firmware-host/ctl/text.h"

namespace berth {

namespace {

constexpr std::uint64_t kMebibyte = 1024 * 1024;
constexpr std::uint64_t kToldBytes = 16 * kMebibyte;  // between two reports of progress

struct ImageArchive {
  int file = -1;
  std::optional<std::uint64_t> bytes;  // none: a pipe
};

Outcome<ImageArchive> open_archive(const std::string& path) {
  ImageArchive archive;
  archive.file = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat found{};
  if (archive.file < 0 || fstat(archive.file, &found) != 0) {
    const std::string why = std::strerror(errno);
    if (archive.file >= 0) close(archive.file);
    return fail(Exit::usage, "cannot open " + path + ": " + why);
  }
  if (S_ISDIR(found.st_mode)) {
    close(archive.file);
    return fail(Exit::usage,
                path + " is a directory: send it by tar -C " + path + " -c . | berthctl image load NODE -");
  }
  const off_t at = S_ISREG(found.st_mode) ? lseek(archive.file, 0, SEEK_CUR) : -1;
  if (at >= 0) archive.bytes = static_cast<std::uint64_t>(std::max(found.st_size, at) - at);
  return archive;
}

class ImageUpload final : public StreamCommand {
 public:
  ImageUpload(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
              const CtlOptions& options, const Screen& screen, ImageArchive archive)
      : StreamCommand(std::move(engine), std::move(address), context, {}, "load", "load the archive again"),
        node_(options.name),
        query_{options.image.name, archive.bytes},
        screen_(screen),
        file_(archive.file) {}
  ~ImageUpload() override {
    end_stream();
    close(file_);
  }
  ImageUpload(const ImageUpload&) = delete;
  ImageUpload& operator=(const ImageUpload&) = delete;

  Outcome<void> run() {
    const std::optional<Failure> failure = run_engine();
    if (failure) return std::unexpected(*failure);
    if (!is_loaded_) return fail(Exit::interrupted, "interrupted");
    return {};
  }

  void on_located(const std::string&, const std::string&) override { open_stream(query_); }
  void on_opened(const std::string&, const std::vector<std::string>&) override {
    stop_deadline();
    send_input(file_);
  }
  void on_data(const std::string& bytes, const std::string&) override { screen_.out << printable_lines(bytes); }

 private:
  void locate() override { locator().begin_at(node_); }
  void on_sent(std::size_t bytes) override {
    sent_ += bytes;
    if (bytes == 0 || sent_ >= tell_at_) tell_progress();
  }
  bool is_complete() override { return is_loaded_ = true; }
  // Each line by itself, since they are a device's.
  static std::string printable_lines(const std::string& bytes) {
    std::string text;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
      text += printable(bytes.substr(at, end - at));
      if (end < bytes.size()) text += '\n';
      at = end + 1;
    }
    return text;
  }
  void tell_progress() {
    tell_at_ = sent_ + kToldBytes;
    screen_.err << "sent " << sent_ / kMebibyte;
    if (query_.bytes) screen_.err << " of " << *query_.bytes / kMebibyte;
    screen_.err << " MiB" << (has_input() ? "" : "; the device loads what it has got") << std::endl;
  }

  const std::string node_;
  const LoadQuery query_;
  const Screen& screen_;
  const int file_;
  std::uint64_t sent_ = 0;
  std::uint64_t tell_at_ = kToldBytes;
  bool is_loaded_ = false;
};

}  // namespace

Outcome<void> run_image_load(ApiClient::Engine engine, ApiClient::Address address, asio::io_context& context,
                             const CtlOptions& options, const Screen& screen) {
  const Outcome<ImageArchive> archive = open_archive(options.image.file);
  if (!archive) return std::unexpected(archive.error());
  return ImageUpload(std::move(engine), std::move(address), context, options, screen, *archive).run();
}

Outcome<void> run_image_list(ApiClient& client, const CtlOptions& options, const Screen& screen) {
  const Outcome<const KindName*> kind = kind_named("node");
  const Outcome<Json> node = client.get(**kind, {}, options.name);
  if (!node) return std::unexpected(node.error());
  std::vector<Cells> rows = {{"IMAGE", "SIZE"}};
  for (const Json& image : list_field(*node, {"status", "images"})) {
    const Json* bytes = field(image, {"sizeBytes"});
    const std::int64_t size = bytes != nullptr && bytes->is_integer() ? bytes->as_int() : 0;
    for (const Json& name : list_field(image, {"names"})) {
      if (name.is_string()) rows.push_back({printable(name.as_string()), std::to_string(size / (1024 * 1024)) + "Mi"});
    }
  }
  TableWriter table;
  for (const Cells& row : rows) table.measure(row);
  for (const Cells& row : rows) screen.out << table.line(row);
  return {};
}

}  // namespace berth
