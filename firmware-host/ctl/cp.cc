// cp: copies files and directories to or from a container, as kubectl: a tar of this machine and one in the container,
// and what the one writes is what the other reads, by exec. What comes from a container is not trusted: the local tar
// takes the one name that was asked for, and unpacks it in a directory of its own (copy_staging.h).
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/spawn.h"
#include "firmware-host/ctl/commands.h"
#include "firmware-host/ctl/copy_staging.h"
#include "firmware-host/ctl/first_bytes.h"
#include "firmware-host/ctl/text.h"
#include "firmware-host/gateway/broker_process.h"

namespace berth {

namespace {

// "[<namespace>/]<pod>:<path>", or a path here.
struct CopyPlace {
  std::string name_space;
  std::string pod;  // empty: here
  std::string path;
};

CopyPlace copy_place(const std::string& text, const CtlOptions& options) {
  const std::size_t colon = text.find(':');
  const bool is_here = colon == std::string::npos || text.front() == '/' || text.front() == '.';
  if (is_here) return {{}, {}, text};
  std::string pod = text.substr(0, colon);
  std::string name_space = namespace_of(options);
  if (const std::size_t slash = pod.find('/'); slash != std::string::npos) {
    name_space = pod.substr(0, slash);
    pod.erase(0, slash + 1);
  }
  return {name_space, pod, text.substr(colon + 1)};
}

// A path without slashes at its end.
std::string trimmed(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// The directory of a path, and its name there.
std::pair<std::string, std::string> split_path(const std::string& given) {
  const std::string path = trimmed(given);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

constexpr char kDelimiter = '\x01';  // of the parts of a renaming: one that no name has

bool is_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name != "/" && name.find(kDelimiter) == std::string::npos;
}

// tar's --transform: the member `from`, and what is below it, is called `to`; targets of symbolic links stay.
std::string renaming(const std::string& from, const std::string& to) {
  const auto escaped = [](const std::string& text, std::string_view special) {
    std::string result;
    for (const char c : text) {
      if (special.find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
    return result;
  };
  const std::string end(1, kDelimiter);
  return "s" + end + "^\\(\\./\\)*" + escaped(from, ".*[]^$\\") + end + escaped(to, "\\&") + end + "S";
}

// The tar of this machine, with a pipe to the one of the container.
class LocalTar {
 public:
  // `reads`: it unpacks what is written to pipe(); otherwise it packs what is read from there.
  Outcome<void> start(std::vector<std::string> arguments, bool reads) {
    const Result<std::string> tar = find_program("tar");
    if (!tar) return fail(Exit::system, "cp needs tar on this machine: " + tar.error().message());
    std::array<int, 2> ends{};
    errors_ = Descriptor(memfd_create("tar", MFD_CLOEXEC));
    if (!errors_ || pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Exit::system, std::strerror(errno));
    Descriptor reading(ends[0]), writing(ends[1]);
    arguments.insert(arguments.begin(), "tar");
    const Result<pid_t> child = reads ? spawn(*tar, arguments, nullptr, {reading.get(), -1, errors_.get()})
                                      : spawn(*tar, arguments, nullptr, {-1, writing.get(), errors_.get()});
    if (!child) return fail(Exit::system, child.error().message());
    child_ = *child;
    pipe_ = std::move(reads ? writing : reading);
    return {};
  }
  int pipe() const { return pipe_.get(); }
  // Its own failure; empty: it has succeeded.
  std::string finish() {
    {
      const Descriptor ended = std::move(pipe_);
    }
    int status = 0;
    if (waitpid(child_, &status, 0) != child_) return "cannot wait for tar";
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    std::string text(4096, '\0');
    const ssize_t got = pread(errors_.get(), text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    while (text.ends_with('\n')) text.pop_back();
    return text.empty() ? "tar failed" : text;
  }

 private:
  pid_t child_ = 0;
  Descriptor pipe_;
  Descriptor errors_;
};

class CopyCommand {
 public:
  CopyCommand(const ApiClient::Engine& engine, const ApiClient::Address& address, asio::io_context& context,
              const CtlOptions& options, const Screen& screen)
      : engine_(engine), address_(address), context_(context), options_(options), screen_(screen) {}

  Outcome<void> run() {
    const CopyPlace from = copy_place(options_.copy.from, options_);
    const CopyPlace to = copy_place(options_.copy.to, options_);
    if (from.pod.empty() == to.pod.empty()) {
      return fail(Exit::usage, "cp: one of the two must be POD:PATH, the other one a path here");
    }
    if (from.path.empty() || to.path.empty()) return fail(Exit::usage, "cp: a path is empty");
    if (!is_name(split_path(from.path).second)) return no_name(from.path);
    return from.pod.empty() ? upload(from, to) : download(from, to);
  }

 private:
  static Outcome<void> no_name(const std::string& path) {
    return fail(Exit::usage, "cp: " + path + " names no file or directory that could be copied");
  }

  // In the container; what it writes goes to `out`. Its exit code.
  Outcome<int> run_there(const CopyPlace& place, std::vector<std::string> command, std::ostream& out, int input) {
    ExecQuery query;
    query.pod = place.name_space + "/" + place.pod;
    query.container = options_.copy.container;
    query.command = std::move(command);
    query.input = input >= 0;
    ApiClient::Address address = address_;
    address.session += "-" + std::to_string(++commands_);
    errors_.clear_text();
    return exec_in_pod(engine_, std::move(address), context_, std::move(query), Screen{out, errors_}, input);
  }

  // Of the tar there.
  Outcome<void> why_failed(const Outcome<int>& code, const CopyPlace& place) const {
    const std::string said = code ? errors_.text() : code.error().text;
    if (said.find("not found") != std::string::npos && said.find("tar") != std::string::npos) {
      return fail(Exit::refused, "cp needs the program tar in the container, and pod " + place.name_space + "/" +
                                     place.pod + " has none there");
    }
    if (!code) return std::unexpected(code.error());
    std::string text = printable(said.substr(0, said.find_last_not_of('\n') + 1));
    return fail(Exit::refused, text.empty() ? "tar in the container failed with exit code " + std::to_string(*code)
                                            : "tar in the container: " + text);
  }

  Outcome<void> upload(const CopyPlace& from, const CopyPlace& to) {
    struct stat found{};
    if (lstat(from.path.c_str(), &found) != 0) {
      return fail(Exit::usage, "cannot read " + from.path + ": " + std::strerror(errno));
    }
    const auto [here, name] = split_path(from.path);
    FirstBytes nothing;
    const Outcome<int> is_directory = run_there(to, {"test", "-d", to.path}, nothing, -1);
    if (!is_directory && is_directory.error().exit != Exit::refused) return std::unexpected(is_directory.error());
    const bool into = to.path.ends_with('/') || (is_directory && *is_directory == 0);
    const auto [there, named] = into ? std::pair(trimmed(to.path), name) : split_path(to.path);
    if (!is_name(named)) return no_name(to.path);
    LocalTar tar;
    Outcome<void> begun =
        tar.start({"-cf", "-", "--transform", renaming(name, named), "-C", here, "--", "./" + name}, false);
    if (!begun) return begun;
    const Outcome<int> code = run_there(to, {"tar", "-xmf", "-", "-C", there}, nothing, tar.pipe());
    const std::string wrong = tar.finish();
    if (!code || *code != 0) return why_failed(code, to);
    return wrong.empty() ? Outcome<void>() : fail(Exit::system, wrong);
  }

  Outcome<void> download(const CopyPlace& from, const CopyPlace& to) {
    struct stat found{};
    const auto [there, name] = split_path(from.path);
    const bool into = stat(to.path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
    const auto [here, named] = into ? std::pair(to.path, name) : split_path(to.path);
    if (!is_name(named)) return no_name(to.path);
    const CopyStaging staging(here);
    if (staging.path().empty()) return fail(Exit::system, "cannot write to " + here + ": " + std::strerror(errno));
    LocalTar tar;
    Outcome<void> begun = tar.start(
        {"-xmf", "-", "--no-same-owner", "--no-same-permissions", "-C", staging.path(), "--", "./" + name}, true);
    if (!begun) return begun;
    std::ofstream pipe("/proc/self/fd/" + std::to_string(tar.pipe()), std::ios::binary);
    const Outcome<int> code = run_there(from, {"tar", "-cf", "-", "-C", there, "./" + name}, pipe, -1);
    pipe.close();
    const std::string wrong = tar.finish();
    if (!code && code.error().exit == Exit::system && !wrong.empty()) return fail(Exit::system, wrong);
    // Of a stream that broke off, the last file is not whole.
    const Outcome<void> moved = code ? staging.move(name, named, screen_.err) : Outcome<void>();
    if (!code || *code != 0) return why_failed(code, from);
    if (!moved) return moved;
    return wrong.empty() ? Outcome<void>() : fail(Exit::system, wrong);
  }

  const ApiClient::Engine& engine_;
  const ApiClient::Address& address_;
  asio::io_context& context_;
  const CtlOptions& options_;
  const Screen& screen_;
  FirstBytes errors_;  // of what runs there
  int commands_ = 0;
};

}  // namespace

Outcome<void> run_cp(const ApiClient::Engine& engine, const ApiClient::Address& address, asio::io_context& context,
                     const CtlOptions& options, const Screen& screen) {
  return CopyCommand(engine, address, context, options, screen).run();
}

}  // namespace berth
