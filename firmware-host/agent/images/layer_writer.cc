#include "firmware-host/agent/images/layer_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "firmware-host/agent/images/layer_path.h"
#include "firmware-host/agent/images/layer_union.h"

namespace berth {

namespace {

constexpr std::string_view kCapability = "security.capability";
constexpr std::string_view kUserAttributes = "user.";
constexpr mode_t kImpliedMode = 0755;

Status failed(const std::string& path, const std::string& what) {
  return Status::error("entry \"" + path + "\": " + what + ": " + std::strerror(errno));
}

bool is_whiteout(const struct stat& file) { return S_ISCHR(file.st_mode) && file.st_rdev == makedev(0, 0); }

struct Attribute {
  std::string name;
  std::string value;
};

Status copy_owner_mode_times(const std::string& path, const struct stat& from) {
  const std::array<timespec, 2> times{from.st_atim, from.st_mtim};
  if (lchown(path.c_str(), from.st_uid, from.st_gid) == 0 && chmod(path.c_str(), from.st_mode & 07777) == 0 &&
      utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0) {
    return Status::ok();
  }
  return failed(path, "owner, mode or times of its directory");
}

}  // namespace

struct LayerWriter::Impl {
  Impl(std::int64_t most, std::vector<int> layers) : most_entries(most), image(std::move(layers)) {
    disk = archive_write_disk_new();
    if (!disk) return;
    // Owners by number, as the entry says: the names are of another system. ACLs come as extended attributes, and only
    // user.* and the capabilities are taken of these: trusted.overlay.* would redirect overlayfs, security.* else
    // belongs to the device.
    archive_write_disk_set_options(disk, ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME);
  }
  ~Impl() { archive_write_free(disk); }

  Status write(archive* tar, archive_entry* entry);
  Status write_entry(archive* tar, archive_entry* entry, const std::string& path);
  Status write_contents(archive* tar, archive_entry* entry, const std::string& path);
  Status write_attributes(const std::vector<Attribute>& attributes, const std::string& path);
  std::vector<Attribute> take_attributes(archive_entry* entry, const std::string& path);
  Status hide(const std::string& path);
  Status count(const std::string& path);
  Status make_parents(const std::string& path);
  Status make_directory(const std::string& path, bool replaces);
  Status clear_way(const std::string& path, bool for_directory, bool& replaces);
  Status make_opaque(const std::string& path);
  void skip(const std::string& path, const std::string& why);

  std::int64_t most_entries;
  LayerUnion image;
  archive* disk;
  std::vector<std::pair<std::string, struct stat>> implied;  // to get their times at the end
  UnpackedLayer result;
};

LayerWriter::LayerWriter(std::int64_t most_entries, std::vector<int> lower)
    : impl_(std::make_unique<Impl>(most_entries, std::move(lower))) {}
LayerWriter::~LayerWriter() = default;

const UnpackedLayer& LayerWriter::written() const { return impl_->result; }

Status LayerWriter::write_all(archive* tar) {
  Impl& it = *impl_;
  if (!it.disk) return Status::error("no memory for a writer");
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(tar, &entry);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK) {
      // After a warning the name may have been converted, with question marks in it.
      const char* name = result == ARCHIVE_WARN && entry ? archive_entry_pathname(entry) : nullptr;
      const char* text = archive_error_string(tar);
      return Status::error((name ? "entry \"" + std::string(name) + "\": " : std::string()) +
                           (text ? text : "the tar cannot be read"));
    }
    if (Status status = it.write(tar, entry); !status.is_success()) return status;
  }
  // Modes and times of directories, which were kept until nothing is written in them any more.
  if (archive_write_close(it.disk) != ARCHIVE_OK) {
    return Status::error(std::string("modes and times of directories: ") + archive_error_string(it.disk));
  }
  for (const auto& [path, below] : it.implied) {
    if (Status status = copy_owner_mode_times(path, below); !status.is_success()) return status;
  }
  return Status::ok();
}

Status LayerWriter::Impl::write(archive* tar, archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (!name) return Status::error("the name of an entry is not valid UTF-8");
  const Result<std::string> named = layer_path(name);
  if (!named) return named.error();
  const Result<std::string> path = image.resolve_parents(*named);
  if (!path) return path.error();
  const Result<EntryMeaning> meaning = meaning_of(*path);
  if (!meaning) return meaning.error();
  if (meaning->kind == EntryKind::aufs_metadata) return Status::ok();
  if (Status status = count(*path); !status.is_success()) return status;
  if (Status status = make_parents(*path); !status.is_success()) return status;
  switch (meaning->kind) {
    case EntryKind::opaque: return make_opaque(meaning->hidden);
    case EntryKind::whiteout: return hide(meaning->hidden);
    default: return write_entry(tar, entry, *path);
  }
}

Status LayerWriter::Impl::write_entry(archive* tar, archive_entry* entry, const std::string& path) {
  const char* target = archive_entry_hardlink(entry);
  const mode_t type = archive_entry_filetype(entry);
  if (target) {
    const Result<std::string> linked = layer_path(target);
    if (!linked) return Status::error("entry \"" + path + "\" is a hard link, but " + linked.error().message());
    const Result<std::string> resolved = image.resolve_parents(*linked);
    if (!resolved) return resolved.error();
    archive_entry_copy_hardlink(entry, resolved->c_str());
    archive_entry_unset_size(entry);
  } else if (type == AE_IFCHR || type == AE_IFBLK || type == AE_IFSOCK) {
    // A container gets its devices by the runtime (OCI runtime-spec, Linux Container Configuration, "Devices") and may
    // use no others: the device controller of its cgroup refuses them. A character device 0/0 would be a whiteout here.
    skip(path, type == AE_IFSOCK ? "a socket" : "a device");
    return Status::ok();
  } else if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK && type != AE_IFIFO) {
    return Status::error("entry \"" + path + "\" has an unknown type");
  }
  const bool is_directory = !target && type == AE_IFDIR;
  bool replaces = false;
  if (Status status = clear_way(path, is_directory, replaces); !status.is_success()) return status;
  archive_entry_copy_pathname(entry, path.c_str());
  const std::vector<Attribute> attributes = take_attributes(entry, path);
  if (Status status = write_contents(tar, entry, path); !status.is_success()) return status;
  if (target) return Status::ok();
  if (Status status = write_attributes(attributes, path); !status.is_success()) return status;
  return replaces && is_directory ? make_opaque(path) : Status::ok();
}

Status LayerWriter::Impl::write_contents(archive* tar, archive_entry* entry, const std::string& path) {
  const auto of_disk = [&] {
    const char* text = archive_error_string(disk);
    return Status::error("entry \"" + path + "\": " + (text ? text : "cannot be written"));
  };
  if (archive_write_header(disk, entry) != ARCHIVE_OK) return of_disk();
  const bool has_contents = !archive_entry_hardlink(entry) && archive_entry_filetype(entry) == AE_IFREG;
  for (bool is_at_end = !has_contents; !is_at_end;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int read = archive_read_data_block(tar, &block, &size, &offset);
    is_at_end = read == ARCHIVE_EOF;
    if (is_at_end) break;
    if (read != ARCHIVE_OK) {
      const char* text = archive_error_string(tar);
      return Status::error("entry \"" + path + "\": " + (text ? text : "cannot be read"));
    }
    if (archive_write_data_block(disk, block, size, offset) != ARCHIVE_OK) return of_disk();
  }
  return archive_write_finish_entry(disk) == ARCHIVE_OK ? Status::ok() : of_disk();
}

std::vector<Attribute> LayerWriter::Impl::take_attributes(archive_entry* entry, const std::string& path) {
  std::vector<Attribute> taken;
  std::set<std::string> seen;  // libarchive itself writes each of them in two forms
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  archive_entry_xattr_reset(entry);
  while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
    const std::string_view known(name);
    if (!seen.emplace(known).second) continue;
    if (known == kCapability || known.starts_with(kUserAttributes)) {
      taken.push_back({name, std::string(static_cast<const char*>(value), size)});
    } else {
      skip(path, "the extended attribute " + std::string(known));
    }
  }
  archive_entry_xattr_clear(entry);
  return taken;
}

// After the owner has been set: that takes capabilities away.
Status LayerWriter::Impl::write_attributes(const std::vector<Attribute>& attributes, const std::string& path) {
  for (const auto& [name, value] : attributes) {
    if (lsetxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0) == 0) continue;
    // Not every file system has user.*, and none has them for symbolic links (xattr(7)).
    if ((errno != ENOTSUP && errno != EPERM) || name == kCapability) {
      return failed(path, "the extended attribute " + name);
    }
    skip(path, "the extended attribute " + name);
  }
  return Status::ok();
}

// "Whiteout files MUST only apply to resources in lower/parent layers" (OCI image-spec, "Whiteouts"): what this layer
// has there stays, but a directory shows nothing from below.
Status LayerWriter::Impl::hide(const std::string& path) {
  struct stat existing{};
  if (lstat(path.c_str(), &existing) == 0) return S_ISDIR(existing.st_mode) ? make_opaque(path) : Status::ok();
  if (errno != ENOENT) return failed(path, "whiteout");
  return mknod(path.c_str(), S_IFCHR, makedev(0, 0)) == 0 ? Status::ok() : failed(path, "whiteout");
}

Status LayerWriter::Impl::count(const std::string& path) {
  if (++result.entries <= most_entries) return Status::ok();
  return Status::error("entry \"" + path + "\" is one more than the " + std::to_string(most_entries) +
                       " that a layer may have");
}

Status LayerWriter::Impl::make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    struct stat existing{};
    const bool exists = lstat(parent.c_str(), &existing) == 0;
    if (!exists && errno != ENOENT) return failed(path, parent);
    const bool replaces = exists && is_whiteout(existing);
    if (replaces && unlink(parent.c_str()) != 0) return failed(path, parent);
    if (!exists || replaces) {
      if (Status status = make_directory(parent, replaces); !status.is_success()) return status;
    } else if (!S_ISDIR(existing.st_mode)) {
      return Status::error("entry \"" + path + "\": \"" + parent + "\" is no directory in this layer");
    }
  }
  return Status::ok();
}

Status LayerWriter::Impl::make_directory(const std::string& path, bool replaces) {
  if (Status status = count(path); !status.is_success()) return status;
  if (mkdir(path.c_str(), kImpliedMode) != 0) return failed(path, "directory");
  if (replaces) return make_opaque(path);
  struct stat below{};
  if (image.find_below(path, below)) implied.emplace_back(path, below);
  return Status::ok();
}

// "In all other cases [than two directories], removing the file path" (OCI image-spec, "Changeset over existing
// files").
Status LayerWriter::Impl::clear_way(const std::string& path, bool for_directory, bool& replaces) {
  struct stat existing{};
  if (lstat(path.c_str(), &existing) != 0) return errno == ENOENT ? Status::ok() : failed(path, "what is there");
  replaces = is_whiteout(existing);
  if (S_ISDIR(existing.st_mode) && for_directory) {
    std::erase_if(implied, [&](const auto& directory) { return directory.first == path; });
    return Status::ok();
  }
  if (path == ".") return Status::error("entry \".\" must be a directory");
  std::error_code error;
  std::filesystem::remove_all(path, error);
  std::erase_if(implied, [&](const auto& directory) {
    return directory.first == path || directory.first.starts_with(path + "/");
  });
  return error ? Status::error("entry \"" + path + "\": what was there before: " + error.message()) : Status::ok();
}

Status LayerWriter::Impl::make_opaque(const std::string& path) {
  return setxattr(path.c_str(), kOpaqueAttribute, "y", 1, 0) == 0 ? Status::ok() : failed(path, kOpaqueAttribute);
}

void LayerWriter::Impl::skip(const std::string& path, const std::string& why) {
  if (result.skipped++ == 0) result.note = "\"" + path + "\": " + why;
}

}  // namespace berth
