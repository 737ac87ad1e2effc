// CurlGet: one GET over TLS, by curl in a child: OpenSSL in the keeper would double what it takes of the memory. As the
// kubelet's probes (pkg/probe/http/http.go), it verifies no certificate, and goes through no proxy.
//
// It inherits the keeper's network, has little time of the processor and little memory (limit() in curl_get.cc), and is
// killed with this object. Should the keeper be killed, it is found by its tag.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/probe_plan.h"

namespace berth {

class CurlGet {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // `headers`: all that are sent; one without a value is taken away if curl would send it.
  static Result<std::unique_ptr<CurlGet>> start(const HttpsClient& client, const std::string& url,
                                                const Headers& headers);
  ~CurlGet();
  CurlGet(const CurlGet&) = delete;
  CurlGet& operator=(const CurlGet&) = delete;

  // The head of the response, as it came; not blocking. The caller's from now on.
  int release_head() { return head_.release(); }
  // A child of the keeper has ended. False: it was another.
  bool take_exit(pid_t pid);
  // What it said of why it failed; once it has ended.
  std::string why() const;

 private:
  CurlGet() = default;

  pid_t process_ = -1;  // -1: it has ended
  Descriptor head_;
  Descriptor errors_;
};

}  // namespace berth
