// ContainerLog: the output of a container, of bounded size: one file, and one rotated file ("<path>.1").
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

  // Output that cannot be written (disk full, directory removed) is lost: logging never blocks a workload.
  void append(std::string_view output);

 private:
  void open_file();

  std::string path_;
  int fd_ = -1;
  std::size_t bytes_ = 0;
};

}  // namespace berth
