// CniRun: a pod's network made or removed by the plugins of a CNI network, without waiting: each plugin is a child, and
// the caller, who reaps all its children, passes on how it ended (CNI specification 1.0.0, sections 2, 3 and 5).
//
//   add:     plugin 1 ─▶ plugin 2 ─▶ ... ─▶ done, with the last one's result
//               └──────────┴─ failed ─▶ all of them remove what there is, in reverse ─▶ done, with the error
//   remove:  plugin n ─▶ ... ─▶ plugin 1 ─▶ done; one that fails does not keep the others from it
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/cni/cni_config.h"

namespace berth {

class CniRun {
 public:
  struct Pod {
    std::string id;                 // unique on the machine, of letters, digits, '.', '_' and '-'
    std::string network_namespace;  // its path
    std::string arguments;          // CNI_ARGS: "K8S_POD_NAME=web-0;K8S_POD_NAMESPACE=default;IgnoreUnknown=1"
    std::vector<PortMapping> ports;
  };

  // `plugins`: directories in which plugins are looked for, in this order.
  CniRun(CniNetwork network, std::vector<std::string> plugins, Pod pod)
      : network_(std::move(network)), directories_(std::move(plugins)), pod_(std::move(pod)) {}
  CniRun(const CniRun&) = delete;
  CniRun& operator=(const CniRun&) = delete;

  // One of them, once.
  void add();
  // `result`: of add(); null: it is not known any more, and plugins remove what they find.
  void remove(const Json& result);
  // A child has ended, with a status of wait(2). False: it has nothing to do with this run.
  bool take_exit(pid_t process, int status);
  // Ends the plugin that runs; the others go on.
  void kill() const;

  bool is_done() const { return is_done_; }
  // Empty: it succeeded.
  const std::string& error() const { return error_; }
  // Of add(): as plugins give it.
  const Json& result() const { return result_; }
  // The pod's addresses, without the length of their prefix, from the result.
  std::vector<std::string> addresses() const;

 private:
  void next();
  Status execute(std::size_t plugin);
  void take_output(const std::string& output, bool succeeded);
  void note_error(const std::string& why);
  std::string find_program(const std::string& type) const;

  const CniNetwork network_;
  const std::vector<std::string> directories_;
  const Pod pod_;
  bool removes_ = false;
  bool is_done_ = false;
  std::size_t left_ = 0;     // plugins that have not run yet
  std::size_t current_ = 0;  // that which runs
  pid_t process_ = 0;        // its
  int output_ = -1;          // a file in memory
  Json result_;
  std::string error_;
};

}  // namespace berth
