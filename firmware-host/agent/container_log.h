// ContainerLog: the output of one run of a container in files of the CRI's form, a line each,
//
//   2016-10-06T00:17:09.669000000Z stdout F content      (P instead of F: the line goes on in the next one)
//
// as the kubelet reads them (pkg/kubelet/kuberuntime/logs/logs.go). Bounded: so many files of so many bytes, "<path>",
// then "<path>.1" and so on, the older ones; beyond a rate lines are dropped, and a line tells how many. The files of
// the run before are kept beside them (previous_log()).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "firmware-host/log_limits.h"

namespace berth {

// Names in a pod's directory. Containers have no dots in theirs.
inline std::string log_name(const std::string& container) { return container + ".log"; }
inline std::string previous_log(const std::string& container) { return container + ".previous.log"; }
// The older parts: of index 0 the file itself.
inline std::string log_part(const std::string& log, int index) {
  return index == 0 ? log : log + "." + std::to_string(index);
}
// Whether it is the name of one of these files.
bool is_log_name(std::string_view name);

// The time of a line: RFC 3339 with nanoseconds, of which the clock has the first three digits.
std::string to_log_time(Millis wall);

enum class OutputStream { standard, errors };

class ContainerLog {
 public:
  static constexpr std::size_t kLineBytesMax = 8 * 1024;  // of content; a longer line is written in parts

  // Begins a run: what `<directory>/<container>.log` has becomes that of the run before. `clock` must outlive it.
  ContainerLog(const std::string& directory, const std::string& container, const LogLimits& limits, const Clock& clock);
  ~ContainerLog();  // writes the lines that have not ended
  ContainerLog(const ContainerLog&) = delete;
  ContainerLog& operator=(const ContainerLog&) = delete;

  // Output that cannot be written (disk full, directory removed) is lost: logging never blocks a workload.
  void append(OutputStream stream, std::string_view output);

 private:
  void add_line(OutputStream stream, std::string_view content, bool is_whole);
  bool take_budget(std::size_t bytes);
  void tell_dropped();
  void write_out();
  bool make_room(std::size_t bytes);
  void open_file();

  const std::string path_;
  const LogLimits limits_;
  const Clock& clock_;
  std::array<std::string, 2> unfinished_;  // by OutputStream
  std::string out_;                        // lines that are not written yet
  std::string time_;                       // of what is being appended
  int fd_ = -1;
  std::uint64_t bytes_ = 0;  // of the file
  std::uint64_t budget_ = 0;
  Millis budget_at_ = 0;
  bool drops_ = false;
  std::uint64_t dropped_lines_ = 0;
  std::uint64_t dropped_bytes_ = 0;
};

}  // namespace berth
