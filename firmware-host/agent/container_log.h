// ContainerLog: what a container wrote, bounded: one file, and one older file beside it ("<path>.1").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

class ContainerLog {
 public:
  static constexpr std::size_t kFileBytesMax = 256 * 1024;

  explicit ContainerLog(std::string path) : path_(std::move(path)) {}
  ~ContainerLog();
  ContainerLog(const ContainerLog&) = delete;
  ContainerLog& operator=(const ContainerLog&) = delete;

  // Output that cannot be written (disk full, directory gone) is lost: a workload never stops for its log.
  void append(std::string_view output);

 private:
  void open_file();

  std::string path_;
  int fd_ = -1;
  std::size_t bytes_ = 0;
};

}  // namespace berth
