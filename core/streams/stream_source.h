// StreamSource: what a device sends in one stream, and takes of it; StreamSources opens them. The seam between the
// streams' protocol and the files, processes and connections behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/streams/frame.h"
#include "core/streams/stream_query.h"

namespace berth {

class StreamSource {
 public:
  struct Part {
    std::string bytes = {};
    std::string position = {};          // of what is behind them, for LogQuery::from
    bool more = false;                  // read again at once: there is, or may be, more
    std::optional<StreamEnd> end = {};  // behind the bytes
    std::string reason = {};            // of that end
    std::optional<int> exit_code = {};  // likewise
    bool errors = false;                // the bytes are of the standard error
    bool last = false;                  // no bytes follow them, but the stream goes on
  };
  virtual ~StreamSource() = default;
  // The next bytes, at most `bytes_max`; takes a bounded time, and so may return none though there are some (`more`).
  // Without `more` and `end` there is nothing now, and the `ready` that it was opened with is called once there is.
  virtual Part read(std::size_t bytes_max) = 0;

  // Of a source that takes input: what the operator has sent, at most as much as was promised (StreamServer). `last`:
  // nothing follows. It is kept until it can be passed on.
  virtual void write(std::string_view /*bytes*/, bool /*last*/) {}
  // How much of it was passed on, in all. `ready` is called when it grows by itself.
  virtual std::uint64_t taken() const { return 0; }
  virtual void resize(TerminalSize /*size*/) {}
};

struct OpenedStream {
  std::unique_ptr<StreamSource> source;
  std::string container = {};
  std::vector<std::string> containers = {};  // StreamFrame::containers
  bool takes_input = false;
};

class StreamSources {
 public:
  virtual ~StreamSources() = default;
  // The error is for people: which pod or container there is not. `ready` outlives the source.
  virtual Result<OpenedStream> open(const StreamQuery& query, std::function<void()> ready) = 0;
};

}  // namespace berth
