#include "tests/crash/sqlite_faults.h"

#include <sqlite3.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace berth::crash {

namespace {

Disk* mounted_disk = nullptr;

struct OpenFile {
  sqlite3_file base;
  Disk::FileRef* file;
  bool sync_name;  // sync the directory with the first sync, as SQLite's own VFS does for logs it created
};

OpenFile& of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

int code_of(Answer answer, int error) {
  if (answer == Answer::ok) return SQLITE_OK;
  return answer == Answer::full ? SQLITE_FULL : error;
}

int close_file(sqlite3_file* file) {
  delete of(file).file;
  of(file).file = nullptr;
  return SQLITE_OK;
}

int read_file(sqlite3_file* file, void* bytes, int count, sqlite3_int64 offset) {
  std::uint64_t got = 0;
  const auto size = static_cast<std::uint64_t>(count);
  const Answer answer =
      mounted_disk->read(**of(file).file, static_cast<std::uint64_t>(offset), static_cast<char*>(bytes), size, got);
  if (answer != Answer::ok) return SQLITE_IOERR_READ;
  std::memset(static_cast<char*>(bytes) + got, 0, size - got);
  return got == size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  const std::string_view content(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
  return code_of(mounted_disk->write(**of(file).file, static_cast<std::uint64_t>(offset), content), SQLITE_IOERR_WRITE);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  return code_of(mounted_disk->truncate(**of(file).file, static_cast<std::uint64_t>(size)), SQLITE_IOERR_TRUNCATE);
}

int sync_file(sqlite3_file* file, int) {
  if (const int code = code_of(mounted_disk->sync(**of(file).file), SQLITE_IOERR_FSYNC); code != SQLITE_OK) return code;
  if (!of(file).sync_name) return SQLITE_OK;
  of(file).sync_name = false;
  return code_of(mounted_disk->sync_names(), SQLITE_IOERR_DIR_FSYNC);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  std::uint64_t bytes = 0;
  const Answer answer = mounted_disk->size(**of(file).file, bytes);
  *size = static_cast<sqlite3_int64>(bytes);
  return code_of(answer, SQLITE_IOERR_FSTAT);
}

// Locking between processes is tested elsewhere (tests/unit, tests/integration).
int lock_file(sqlite3_file*, int) { return SQLITE_OK; }

int check_reserved(sqlite3_file*, int* reserved) {
  *reserved = 0;
  return SQLITE_OK;
}

int control_file(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
// As reported by SQLite's VFS for Linux.
int characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

const sqlite3_io_methods kMethods = [] {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;  // no shared memory: the store locks its file exclusively
  methods.xClose = close_file;
  methods.xRead = read_file;
  methods.xWrite = write_file;
  methods.xTruncate = truncate_file;
  methods.xSync = sync_file;
  methods.xFileSize = file_size;
  methods.xLock = lock_file;
  methods.xUnlock = lock_file;
  methods.xCheckReservedLock = check_reserved;
  methods.xFileControl = control_file;
  methods.xSectorSize = sector_size;
  methods.xDeviceCharacteristics = characteristics;
  return methods;
}();

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  of(file).base.pMethods = nullptr;
  const bool creates = (flags & SQLITE_OPEN_CREATE) != 0;
  bool known = false;
  if (name != nullptr && mounted_disk->exists(name, known) != Answer::ok) return SQLITE_IOERR;
  Disk::FileRef opened = name != nullptr ? mounted_disk->open(name, creates) : std::make_shared<Disk::File>();
  if (opened == nullptr) return SQLITE_CANTOPEN;
  of(file).file = new Disk::FileRef(std::move(opened));
  of(file).sync_name = !known && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
  of(file).base.pMethods = &kMethods;
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs*, const char* name, int sync_directory) {
  bool known = false;
  if (mounted_disk->exists(name, known) != Answer::ok) return SQLITE_IOERR_DELETE;
  if (!known) return SQLITE_IOERR_DELETE_NOENT;
  if (const int code = code_of(mounted_disk->remove(name), SQLITE_IOERR_DELETE); code != SQLITE_OK) return code;
  return sync_directory != 0 ? code_of(mounted_disk->sync_names(), SQLITE_IOERR_DIR_FSYNC) : SQLITE_OK;
}

int access_file(sqlite3_vfs*, const char* name, int flags, int* result) {
  bool known = false;
  const Answer answer = mounted_disk->exists(name, known);
  if (known && flags == SQLITE_ACCESS_EXISTS) {
    // An empty log counts as missing, as in SQLite's own VFS.
    std::uint64_t bytes = 0;
    const Disk::FileRef file = mounted_disk->open(name, false);
    known = file != nullptr && mounted_disk->size(*file, bytes) == Answer::ok && bytes > 0;
  }
  *result = known ? 1 : 0;
  return code_of(answer, SQLITE_IOERR_ACCESS);
}

int full_name(sqlite3_vfs*, const char* name, int size, char* out) {
  std::snprintf(out, static_cast<std::size_t>(size), "%s", name);
  return SQLITE_OK;
}

// The same salts in every run: SQLite also increments a salt with each new log, so frames of old logs are recognised.
int randomness(sqlite3_vfs*, int count, char* bytes) {
  static Random random(1);
  for (int i = 0; i < count; ++i) bytes[i] = static_cast<char>(random.next());
  return count;
}

int sleep_none(sqlite3_vfs*, int) { return 0; }
int last_error(sqlite3_vfs*, int, char*) { return 0; }

int julian_day(sqlite3_vfs*, double* day) {
  *day = 2'461'000.5;
  return SQLITE_OK;
}

sqlite3_mem_methods system_memory;
MemoryFault memory_fault;
std::uint64_t allocations = 0;
bool memory_fired = false;

bool memory_fails() {
  if (memory_fault.at == 0) return false;
  ++allocations;
  if (allocations != memory_fault.at && !(memory_fired && memory_fault.for_good)) return false;
  memory_fired = true;
  return true;
}

void* allocate(int bytes) { return memory_fails() ? nullptr : system_memory.xMalloc(bytes); }
void* reallocate(void* old, int bytes) { return memory_fails() ? nullptr : system_memory.xRealloc(old, bytes); }

bool weak_synchronous = false;

int deny_synchronous(void*, int action, const char* what, const char* value, const char*, const char*) {
  const bool sets = action == SQLITE_PRAGMA && std::string_view(what) == "synchronous" && value != nullptr;
  return sets ? SQLITE_IGNORE : SQLITE_OK;
}

int weaken(sqlite3* connection, const char**, const sqlite3_api_routines*) {
  if (!weak_synchronous) return SQLITE_OK;
  // Exclusive locking first, as in the store: these files have no shared memory.
  sqlite3_exec(connection, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = NORMAL", nullptr, nullptr, nullptr);
  return sqlite3_set_authorizer(connection, deny_synchronous, nullptr);
}

void require(int code, const char* what) {
  if (code == SQLITE_OK) return;
  std::fprintf(stderr, "SQLite: cannot %s: %s\n", what, sqlite3_errstr(code));
  std::exit(2);
}

sqlite3_vfs make_vfs() {
  sqlite3_vfs vfs{};
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(OpenFile);
  vfs.mxPathname = 512;
  vfs.zName = "simulated";
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_name;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep_none;
  vfs.xCurrentTime = julian_day;
  vfs.xGetLastError = last_error;
  return vfs;
}

}  // namespace

void install_faults() {
  require(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory), "query its allocator");
  sqlite3_mem_methods memory = system_memory;
  memory.xMalloc = allocate;
  memory.xRealloc = reallocate;
  require(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory), "replace its allocator");
  require(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), "disable the lookaside allocator");
  require(sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0), "disable the page cache allocator");
  require(sqlite3_initialize(), "initialise it");
  static sqlite3_vfs vfs = make_vfs();
  require(sqlite3_vfs_register(&vfs, 1), "register the simulated file system");
  require(sqlite3_auto_extension(reinterpret_cast<void (*)(void)>(weaken)), "register a hook for new connections");
}

void mount(Disk& disk) { mounted_disk = &disk; }
Disk& mounted() { return *mounted_disk; }

void arm_memory(const MemoryFault& fault) {
  memory_fault = fault;
  allocations = 0;
  memory_fired = false;
}

bool memory_fault_fired() { return memory_fired; }

void weaken_synchronous(bool weak) { weak_synchronous = weak; }

}  // namespace berth::crash
