#include "firmware-host/ctl/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "core/handshake/fields.h"
#include "core/json/json.h"
#include "firmware-host/ctl/archive.h"
#include "firmware-host/ctl/ownership.h"
#include "firmware-host/real_clock.h"
#include "firmware-host/state_directory.h"
#include "storage/mark_file.h"
#include "storage/paths.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr char kContents[] = "contents.json";  // the last file of a backup
constexpr char kDatabase[] = "gateway.db";
constexpr char kLog[] = "gateway.db-wal";
constexpr char kMark[] = "gateway.mark";
constexpr char kLock[] = "lock";
constexpr char kStaging[] = "restore.new";
constexpr int kAttempts = 50;
constexpr Millis kAttemptPause = 100;
// Above all terms that the gateway may have begun since the backup: each start is higher by 65,536 at most.
constexpr std::uint64_t kTermsAhead = 1ull << 32;

std::unexpected<Failure> backup_failure(const Status& status) { return fail(Exit::refused, status.message()); }

class Silent final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

// When the log was begun; empty: there is none.
std::string log_header(const std::string& state_dir) {
  std::ifstream file(state_dir + "/" + kLog, std::ios::binary);
  std::string header(32, '\0');
  return file.read(header.data(), static_cast<std::streamsize>(header.size())) ? header : std::string();
}

// Not what each start makes again, or what is of no use elsewhere: the mark of a new installation too, which a copy of
// its store is not.
bool is_kept(const fs::path& name) {
  const std::string file = name.filename().string();
  if (file == kLock || name == kNewInstallation || file == "http" || file.starts_with(kDatabase)) return false;
  return name.begin()->string() != kStaging && !file.ends_with(".new") && !file.ends_with(".pid");
}

Result<std::vector<std::string>> other_files(const std::string& state_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator at(state_dir, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file()) continue;
    const fs::path name = at->path().lexically_relative(state_dir);
    if (is_kept(name)) names.push_back(name.string());
  }
  if (error) return Status::error("cannot read " + state_dir + ": " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

using Files = std::vector<ArchivedFile>;

// Database and log, of one moment.
Status add_store(ArchiveWriter& writer, const std::string& state_dir, Files& files) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t position = writer.position();
    const std::string before = log_header(state_dir);
    Files added;
    for (const char* name : {kDatabase, kLog}) {
      if (name == kLog && before.empty()) continue;
      const Result<std::optional<ArchivedFile>> file = writer.add_file(name, state_dir + "/" + name);
      if (!file && name == kDatabase) return file.error();
      if (file && !*file && name == kDatabase) {
        return Status::error("cannot read " + state_dir + "/" + name + ": there is no such file");
      }
      if (file && *file) added.push_back(**file);
    }
    if (added.size() == (before.empty() ? 1u : 2u) && log_header(state_dir) == before) {
      files.insert(files.end(), added.begin(), added.end());
      return Status::ok();
    }
    if (Status rewound = writer.rewind(position); !rewound.is_success()) return rewound;
    pause_for(kAttemptPause);
  }
  return Status::error("the gateway writes more than can be copied at this moment; try again later");
}

Json contents_of(const BackupOptions& options, const Files& files) {
  Silent log;
  const StoreMark mark = MarkFile(options.state_dir + "/" + kMark, log).read().value_or(StoreMark{});
  Json list = Json::array();
  for (const ArchivedFile& file : files) {
    list.push_back(Json::object()
                       .set("name", file.name)
                       .set("bytes", std::to_string(file.bytes))
                       .set("fnv1a", std::to_string(file.hash)));
  }
  Json contents = Json::object();
  contents.set("format", 1).set("version", BERTH_VERSION).set("date", to_rfc3339(RealClock().wall()));
  contents.set("fleet", options.fleet).set("storeId", mark.store_id).set("term", std::to_string(mark.term));
  return contents.set("files", std::move(list));
}

Status write_backup(const BackupOptions& options, const std::string& path, Files& files) {
  Result<ArchiveWriter> writer = ArchiveWriter::create(path);
  if (!writer) return writer.error();
  if (Status added = add_store(*writer, options.state_dir, files); !added.is_success()) return added;
  const Result<std::vector<std::string>> names = other_files(options.state_dir);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const std::string from = options.state_dir + "/" + name;
    const std::uint64_t position = writer->position();
    const Result<std::optional<ArchivedFile>> file = writer->add_file(name, from);
    if (file && *file) files.push_back(**file);
    if (file) continue;  // with none, the gateway has removed it since it was listed, and may make it again
    if (fs::exists(from)) return file.error();
    // Removed while it was read.
    if (Status rewound = writer->rewind(position); !rewound.is_success()) return rewound;
  }
  const Result<ArchivedFile> told = writer->add_text(kContents, contents_of(options, files).dump());
  return told ? writer->finish() : told.error();
}

// A backup as its last file tells, with all checksums verified.
struct Backup {
  Json contents;
  std::map<std::string, ArchivedFile> files;
};

bool is_safe(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && path.is_relative() && std::none_of(path.begin(), path.end(), [](const fs::path& level) {
    return level == ".." || level == "." || level.empty();
  });
}

Status check_contents(const std::string& path, const Backup& backup) {
  Status altered = Status::error(path + " is not a backup, or was altered");
  const Json* format = backup.contents.find("format");
  const Json* list = backup.contents.find("files");
  if (format == nullptr || list == nullptr || !list->is_array()) return altered;
  if (*format != Json(1)) return Status::error(path + " was made by a newer berthctl: use that one");
  if (list->as_array().size() != backup.files.size() || !backup.files.contains(kDatabase)) return altered;
  for (const Json& each : list->as_array()) {
    const auto found = backup.files.find(each.string_at("name"));
    if (found == backup.files.end() || each.string_at("bytes") != std::to_string(found->second.bytes) ||
        each.string_at("fnv1a") != std::to_string(found->second.hash)) {
      return altered;
    }
  }
  return Status::ok();
}

Result<Backup> read_backup(const std::string& path) {
  Backup backup;
  std::string contents;
  bool in_contents = false;
  ArchiveVisitor visitor;
  visitor.begin = [&](const ArchivedFile& file) {
    in_contents = file.name == kContents;
    return is_safe(file.name) ? Status::ok() : Status::error(path + ": has a file with the name " + file.name);
  };
  visitor.piece = [&](std::string_view bytes) {
    if (in_contents) contents.append(bytes);
    return Status::ok();
  };
  visitor.end = [&](const ArchivedFile& file) {
    if (!in_contents) backup.files.insert_or_assign(file.name, file);
    return Status::ok();
  };
  if (Status read = read_archive(path, visitor); !read.is_success()) return read;
  Result<Json> json = Json::parse(contents, {.bytes = 1u << 20, .depth = 8});
  if (!json) return Status::error(path + " is not a backup, or was altered");
  backup.contents = std::move(*json);
  if (Status checked = check_contents(path, backup); !checked.is_success()) return checked;
  return backup;
}

void show(const Backup& backup, const Screen& screen) {
  const auto told = [&](const char* member) { return backup.contents.string_at(member); };
  screen.out << "made " << told("date") << " by berthctl " << told("version");
  if (!told("fleet").empty()) screen.out << ", fleet " << told("fleet");
  screen.out << "\nstore " << told("storeId") << ", term " << told("term") << "\n";
  for (const auto& [name, file] : backup.files) screen.out << "  " << name << "  " << file.bytes << " bytes\n";
}

Status extract(const std::string& path, const std::string& directory) {
  int fd = -1;
  ArchiveVisitor visitor;
  visitor.begin = [&](const ArchivedFile& file) {
    const std::string to = directory + "/" + file.name;
    std::error_code error;
    fs::create_directories(fs::path(to).parent_path(), error);
    fd = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 ? Status::ok() : Status::error("cannot create " + to + ": " + std::strerror(errno));
  };
  visitor.piece = [&](std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Status::error("cannot write to " + directory + ": " + std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return Status::ok();
  };
  visitor.end = [&](const ArchivedFile&) {
    const bool is_synced = ::fsync(fd) == 0;
    const int number = errno;
    ::close(std::exchange(fd, -1));
    return is_synced ? Status::ok() : Status::error("cannot sync " + directory + ": " + std::strerror(number));
  };
  Status read = read_archive(path, visitor);
  if (fd >= 0) ::close(fd);
  return read;
}

// Ahead of the copy: the next start knows that it works on an older one, and is in adopt mode.
Status write_mark(const std::string& directory, const Json& contents) {
  StoreMark mark{contents.string_at("storeId"), parse_u64(contents.string_at("term")).value_or(0) + kTermsAhead, 0};
  if (mark.store_id.empty()) mark.store_id = "restored";
  Silent log;
  if (MarkFile(directory + "/" + kMark, log).write(mark)) return Status::ok();
  return Status::error("cannot write " + directory + "/" + kMark);
}

// The mark first, and the database last: whenever this is cut short, what is there is no store that takes itself for
// the newest.
Status move_into(const std::string& state_dir, const std::string& staging, const Backup& backup, const Owner& owner) {
  std::vector<std::string> names{kMark};
  for (const auto& [name, file] : backup.files) {
    if (name != kMark && name != kDatabase) names.push_back(name);
  }
  names.push_back(kDatabase);
  std::error_code error;
  for (const std::string& name : names) {
    const fs::path to = fs::path(state_dir) / name;
    fs::create_directories(to.parent_path(), error);
    if (!error) fs::rename(fs::path(staging) / name, to, error);
    if (error) return Status::error("cannot write " + to.string() + ": " + error.message());
    if (Status synced = sync_directory_of(to.string()); !synced.is_success()) return synced;
  }
  fs::remove_all(staging, error);
  names.push_back(kLock);
  return ::geteuid() == 0 ? give_to(owner, state_dir, names) : Status::ok();
}

Status check_unused(const BackupOptions& options) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(options.state_dir, error)) {
    if (entry.path().filename() == kLock || entry.path().filename() == kStaging) continue;
    return Status::error(options.state_dir +
                         " is not empty: give another --state-dir, or --force to set its store aside");
  }
  return Status::ok();
}

}  // namespace

Outcome<void> run_backup(const BackupOptions& options, const Screen& screen) {
  if (!options.lists) {
    Files files;
    const std::string fresh = options.file + ".new";
    Status done = write_backup(options, fresh, files);
    if (done.is_success() && std::rename(fresh.c_str(), options.file.c_str()) != 0) {
      done = Status::error("cannot rename " + fresh + ": " + std::strerror(errno));
    }
    if (done.is_success()) done = sync_directory_of(options.file);
    if (!done.is_success()) {
      remove_file(fresh);
      return backup_failure(done);
    }
  }
  const Result<Backup> backup = read_backup(options.file);
  if (!backup) return backup_failure(backup.error());
  show(*backup, screen);
  screen.out << "It contains passwords and keys: keep it like them.\n";
  return {};
}

Outcome<void> run_restore(const BackupOptions& options, const Screen& screen) {
  const Result<Backup> backup = read_backup(options.file);
  if (!backup) return backup_failure(backup.error());
  const Result<Owner> owner = owner_of(options.state_dir);
  if (!owner) return backup_failure(owner.error());
  const Result<StateDirectory> locked = StateDirectory::open(options.state_dir);
  if (!locked) return backup_failure(locked.error());
  if (Status unused = options.forces ? Status::ok() : check_unused(options); !unused.is_success()) {
    return backup_failure(unused);
  }
  const std::string staging = options.state_dir + "/" + kStaging;
  std::error_code error;
  fs::remove_all(staging, error);
  fs::create_directory(staging, error);
  Status done = error ? Status::error("cannot create " + staging + ": " + error.message()) : Status::ok();
  if (done.is_success()) done = extract(options.file, staging);
  if (done.is_success()) done = write_mark(staging, backup->contents);
  if (!done.is_success()) {
    fs::remove_all(staging, error);
    return backup_failure(done);
  }
  const std::string database = options.state_dir + "/" + kDatabase;
  if (fs::exists(database)) {
    const Result<std::string> aside = set_aside(database, RealClock().wall());
    if (!aside) return backup_failure(aside.error());
    screen.out << "the earlier store is kept as " << *aside << "\n";
  }
  if (Status moved = move_into(options.state_dir, staging, *backup, *owner); !moved.is_success()) {
    return backup_failure(moved);
  }
  show(*backup, screen);
  screen.out
      << "Start berthd: it asks all devices what they run before it places pods. Pods placed since the backup are\n"
         "kept; what was deleted since then comes back, and has to be deleted again.\n";
  return {};
}

}  // namespace berth
