/// A list through its members' own `next` and `previous`, for heads that live inside the memory that they describe.
#pragma once

namespace homing::memory {

/// Threads: under the owner's lock.
template <class Node>
void link_front(Node*& list, Node& node) noexcept {
  node.previous = nullptr;
  node.next = list;
  if (list != nullptr) list->previous = &node;
  list = &node;
}

template <class Node>
void unlink(Node*& list, Node& node) noexcept {
  (node.previous != nullptr ? node.previous->next : list) = node.next;
  if (node.next != nullptr) node.next->previous = node.previous;
}

}  // namespace homing::memory
