// LogReader: reads the log of one run of a container (container_log.h) from oldest to newest, in bounded steps, while
// its keeper goes on writing and rotating. Its files are opened first, so that those that are rotated away meanwhile
// are read nevertheless. A position names a file by how it begins, which no other one of a pod has, and an offset in
// it: it is valid for as long as the file is there, whatever its name, and for other programs than the one that gave
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/streams/stream_source.h"

namespace berth {

class LogReader {
 public:
  struct Start {
    std::optional<std::uint64_t> tail;  // LogQuery::tail
    std::string since;                  // to_log_time(); empty: whatever their time
    std::string from;                   // LogQuery::from
  };
  // `path`: that of the log's newest file. `previous`: likewise, of the run before, which is where a run's files are
  // once another one has begun. `is_running`: whether the container may still write; null: only what is there is read.
  LogReader(std::string path, std::string previous, Start start, std::function<bool()> is_running);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // No file is there.
  bool is_empty() const { return files_.empty(); }
  // As StreamSource: whole lines, unless one is longer than `bytes_max` or never ended.
  StreamSource::Part read(std::size_t bytes_max);
  // Whether the log has the position.
  static bool has_position(const std::string& path, const std::string& position);

 private:
  struct File {
    int fd = -1;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };
  static std::vector<File> open_all(const std::string& path);
  static std::string id_of(const File& file);
  static void close_all(const std::vector<File>& files);
  static std::optional<std::pair<std::size_t, std::uint64_t>> find(const std::vector<File>& files,
                                                                   const std::string& position);
  void begin();
  bool seek_tail();
  StreamSource::Part read_lines(std::size_t bytes_max, bool is_complete);
  std::string only_since(std::string_view lines) const;
  StreamSource::Part at_end(std::size_t bytes_max);
  bool open_next();
  StreamSource::Part begin_after_gap();

  const std::string path_;
  const std::string previous_;
  const Start start_;
  const std::function<bool()> is_running_;
  std::vector<File> files_;  // oldest first
  std::size_t at_ = 0;       // the one that is read
  std::uint64_t offset_ = 0;
  bool has_gap_ = false;  // it is to go on from a position that is gone
  bool seeks_ = false;
  std::uint64_t lines_left_ = 0;  // to be found before the present place, while it seeks
};

}  // namespace berth
