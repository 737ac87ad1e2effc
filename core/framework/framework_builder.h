// FrameworkBuilder: a framework from a profile, with validation: every error has the configuration path and the plugin.
#pragma once

#include <memory>
#include <string>

#include "core/framework/framework.h"

namespace berth {

class FrameworkBuilder {
 public:
  // All must outlive the builder; `handle` also the framework.
  FrameworkBuilder(const Registry& registry, const Profile& profile, Handle& handle);
  // To be called once.
  Result<std::unique_ptr<Framework>> build();

 private:
  Status make_plugins();
  void complete_args(const std::string& name, const Plugin& plugin);
  Status add_to_points();
  template <class T>
  Status add_to_point(Point point, PluginList<T>& list);
  Status check_points() const;

  const Registry& registry_;
  const Profile& profile_;
  Handle& handle_;
  Framework::Parts parts_;
};

}  // namespace berth
