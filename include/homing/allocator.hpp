/// Allocators that keep their memory resource alive: for containers that are passed around, where nobody wants to say
/// who ends the resource.
///
///   std::vector<double, homing::allocator<double>> x(n, homing::distributed_allocator<double>(homing::block(n)));
///   std::vector<int, homing::allocator<int>> near(100, homing::domain_allocator<int>(homing::domain_index{1}));
///
/// Copies of a container share its resource; the last one ends it. Where the owner is clear, std::pmr containers with a
/// resource of <homing/memory_resource.hpp> cost a word less.
#pragma once

#include <homing/memory_resource.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace homing {

/// A standard allocator on a shared memory resource; equal to those on the same one.
/// Threads and errors: the resource's. More elements than SIZE_MAX bytes hold are std::bad_array_new_length.
template <class T>
class allocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  /// `from` is not null.
  explicit allocator(std::shared_ptr<std::pmr::memory_resource> from) : resource_(std::move(from)) {
    detail::expects(resource_ != nullptr, "allocator", "no resource; make one, or use domain_allocator() and the like");
  }
  // Moving is copying: a container that was moved from may still allocate.
  allocator(const allocator&) noexcept = default;
  allocator& operator=(const allocator&) noexcept = default;
  template <class U>
  allocator(const allocator<U>& other) noexcept  // NOLINT(google-explicit-constructor): as allocators are rebound
      : resource_(other.resource()) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(resource_->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* block, std::size_t count) noexcept { resource_->deallocate(block, count * sizeof(T), alignof(T)); }
  [[nodiscard]] const std::shared_ptr<std::pmr::memory_resource>& resource() const noexcept { return resource_; }

  template <class U>
  friend bool operator==(const allocator& a, const allocator<U>& b) noexcept {
    return a.resource() == b.resource();
  }

 private:
  std::shared_ptr<std::pmr::memory_resource> resource_;
};

/// On a resource of its own: of a domain, or a node.
template <class T, class Home>
  requires(std::same_as<Home, domain_index> || std::same_as<Home, node_index>)
[[nodiscard]] allocator<T> domain_allocator(Home home, const memory_options& options = {}) {
  return allocator<T>(std::make_shared<domain_resource>(home, options));
}
/// On a resource of its own that serves each thread from its domain.
template <class T>
[[nodiscard]] allocator<T> local_allocator(const memory_options& options = {}) {
  return allocator<T>(std::make_shared<local_resource>(options));
}
/// On a resource of its own whose pages are dealt over the nodes.
template <class T>
[[nodiscard]] allocator<T> interleaved_allocator(const memory_options& options = {}) {
  return allocator<T>(std::make_shared<interleaved_resource>(options));
}
/// On a resource of its own, along a distribution of elements of T.
template <class T, class Dist>
[[nodiscard]] allocator<T> distributed_allocator(Dist along, const memory_options& options = {}) {
  return allocator<T>(std::make_shared<distributed_resource<Dist>>(std::move(along), sizeof(T), options));
}

}  // namespace homing
