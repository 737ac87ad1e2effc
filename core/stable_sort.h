// A stable sort. Not std::stable_sort: clang rejects its implementation in GCC 12's library.
#pragma once

#include <iterator>
#include <list>
#include <vector>

namespace berth {

template <class T, class Before>
void stable_sort(std::vector<T>& items, Before before) {
  std::list<T> list(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  list.sort(before);
  items.assign(std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
}

}  // namespace berth
