/// Pages of one array, mapped and placed as a whole; and a thread for each home.
#include <homing/detail/placed_pages.hpp>
#include <homing/topology.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "platform/address_space.hpp"
#include "platform/page_calls.hpp"

namespace homing::detail {

using platform::address_range;

placed_pages::placed_pages(std::size_t bytes, std::size_t alignment, page_kind kind) {
  if (bytes == 0) return;
  const std::size_t huge = platform::kernel_page_calls().huge_page_bytes();
  const std::size_t grain = kind == page_kind::huge && huge > 0 ? huge : page_bytes();
  if (bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) throw std::bad_alloc();
  const std::size_t room = (bytes + grain - 1) / grain * grain;
  const address_range pages = platform::kernel_address_space().map(0, room, std::max(alignment, grain));
  if (pages.bytes() == 0) throw std::bad_alloc();
  // Advice: who does not get them has placed memory all the same, and report().grain_bytes says which.
  if (grain > page_bytes()) {
    static_cast<void>(platform::kernel_address_space().advise(pages, platform::huge_advice::wanted));
  }
  data_ = reinterpret_cast<std::byte*>(pages.first);
  bytes_ = room;
}

placed_pages::~placed_pages() {
  if (data_ == nullptr) return;
  // The policy ends with the pages; a made-up machine's book has to hear of it.
  if (report_.is_virtual) {
    static_cast<void>(policy_.reset());
  } else {
    policy_.release();
  }
  const auto first = reinterpret_cast<platform::address>(data_);
  platform::kernel_address_space().unmap({first, first + bytes_});
}

void placed_pages::place(const run_source& runs, const placement_options& options) {
  placed_range now = enforce(runs, range(), 1, options);
  placement_report report = now.report();
  report.by_policy |= report_.by_policy;
  report.by_moving |= report_.by_moving;
  report.by_copying |= report_.by_copying;
  ok_ = now.ok();
  report_ = std::move(report);
  policy_.release();  // what is not `now`'s own stays as it is until the pages go
  policy_ = std::move(now);
}

bool first_touch_matters(std::size_t bytes) {
  const topology::snapshot machine = topology::current();
  if (machine.memory_node_count() == 1 && !machine.is_virtual()) return false;
  return machine.domains().size() > 1 && bytes > machine.domains().size() * page_bytes();
}

void at_homes(std::span<const domain_index> homes, home_work work) {
  const topology::snapshot machine = topology::current();
  std::vector<std::thread> threads;
  threads.reserve(homes.size());
  for (const domain_index home : homes) {
    try {
      threads.emplace_back([&machine, work, home] {
        std::optional<topology::bound_thread> here;
        try {
          here.emplace(machine, home);
        } catch (const std::bad_alloc&) {  // unbound, then
        }
        work.call(work.context, home);
      });
    } catch (const std::exception&) {  // no thread, or no memory for one
      work.call(work.context, home);
    }
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace homing::detail
