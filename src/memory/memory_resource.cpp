/// The public resources of <homing/memory_resource.hpp>: each is a set of pools on this process's kernel.
#include <homing/memory_resource.hpp>
#include <homing/topology.hpp>

#include <memory>
#include <span>
#include <utility>

#include "memory/pool_set.hpp"
#include "platform/address_space.hpp"
#include "platform/page_calls.hpp"

namespace homing {

struct detail::pooled_resource::pools {
  std::unique_ptr<memory::pool_set> set;

  static std::unique_ptr<pools> of(std::unique_ptr<memory::pool_set> set) {
    return std::make_unique<pools>(pools{std::move(set)});
  }
  static std::unique_ptr<pools> on(const char* name, const topology::snapshot& machine,
                                   std::vector<memory::page_home> homes, const memory_options& options) {
    return of(std::make_unique<memory::pool_set>(name, platform::kernel_page_calls(), platform::kernel_address_space(),
                                                 machine, std::move(homes), options));
  }
};

namespace detail {

pooled_resource::pooled_resource(std::unique_ptr<pools> of) noexcept : pools_(std::move(of)) {}
pooled_resource::~pooled_resource() = default;

memory_usage pooled_resource::usage() const noexcept { return pools_->set->usage(); }

void* pooled_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  return pools_->set->allocate(bytes, alignment);
}
void pooled_resource::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) {
  pools_->set->deallocate(block, bytes, alignment);
}
bool pooled_resource::do_is_equal(const std::pmr::memory_resource& other) const noexcept { return this == &other; }

}  // namespace detail

domain_resource::domain_resource(domain_index home, const memory_options& options)
    : pooled_resource([&] {
        const topology::snapshot machine = topology::current();
        return pools::on("domain_resource", machine, memory::homes_of(machine, home), options);
      }()) {}

domain_resource::domain_resource(node_index home, const memory_options& options)
    : pooled_resource([&] {
        const topology::snapshot machine = topology::current();
        return pools::on("domain_resource", machine, memory::homes_of(machine, std::span(&home, 1)), options);
      }()) {}

local_resource::local_resource(const memory_options& options)
    : pooled_resource(pools::of(memory::pool_set::of_all_domains("local_resource", platform::kernel_page_calls(),
                                                                 platform::kernel_address_space(), topology::current(),
                                                                 options))) {}

interleaved_resource::interleaved_resource(const memory_options& options)
    : interleaved_resource(std::span<const node_index>(), options) {}

interleaved_resource::interleaved_resource(std::span<const node_index> nodes, const memory_options& options)
    : pooled_resource([&] {
        const topology::snapshot machine = topology::current();
        return pools::on("interleaved_resource", machine, memory::homes_of(machine, nodes), options);
      }()) {}

}  // namespace homing
