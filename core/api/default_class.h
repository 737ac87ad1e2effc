// Which StorageClass claims get that name none: one with an annotation that is "true"
// (pkg/volume/util/storageclass.go IsDefaultAnnotation).
#pragma once

#include <array>
#include <string_view>

namespace berth {

inline constexpr std::array<std::string_view, 2> kDefaultClassAnnotations{
    "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"};

}  // namespace berth
