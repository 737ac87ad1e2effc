// Which stays when a device turns out to run a pod from before a lost store whose name was placed again since (P14).
#pragma once

namespace berth {

enum class SameName { older, newer, ask };

}  // namespace berth
