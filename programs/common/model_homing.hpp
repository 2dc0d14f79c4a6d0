// Homing: work sent to its data's home, data enforced there as well, or work pinned there. On stock oneTBB the same
// programs run, and homes mean nothing.
#pragma once

#include <homing/parallel_for.hpp>
#include <homing/parallel_reduce.hpp>
#include <homing/pinned.hpp>
#include <homing/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <string_view>

#include "../../bench/common/stopwatch.hpp"
#include "model_tbb.hpp"

namespace programs {

enum class sending { work, work_and_data, pinned };

template <sending How>
class homing_model : public tbb_tasks {
 public:
  static constexpr std::string_view name = How == sending::work            ? "homing"
                                           : How == sending::work_and_data ? "homing-placed"
                                                                           : "homing-pinned";
  static constexpr std::string_view what = How == sending::work            ? "work sent to its home"
                                           : How == sending::work_and_data ? "work sent, and data enforced"
                                                                           : "work pinned to its home, data enforced";

  explicit homing_model(int threads) : tbb_tasks(threads) {
    if constexpr (How == sending::pinned) {
      for (std::uint32_t d = 0; d < homing::domain_count(); ++d) {
        const std::size_t share = share_of(static_cast<std::size_t>(threads), homing::domain_count(), d).size();
        arenas_.emplace_back(homing::domain_index{d}, static_cast<int>(std::max<std::size_t>(1, share)));
      }
    }
  }

  template <class Space, class Body>
  void loop(Space& s, const Body& body) {
    const auto part = [&](const typename Space::range_type& r) { s.run(body, r); };
    if constexpr (How == sending::pinned) {
      parts([&](std::uint32_t p) { tbb::parallel_for(s.share(part_count(), p), part, tbb::static_partitioner{}); },
            nullptr);
    } else {
      homing::parallel_for(s.range(), part, s.homes());
    }
  }
  template <class Space, class T, class Body>
  T sum(Space& s, T zero, const Body& body) {
    const auto part = [&](const typename Space::range_type& r, T so_far) { return so_far + s.run(body, r); };
    return homing::parallel_reduce(s.range(), zero, part, std::plus<>(), s.homes());
  }
  /// The children of a task are dealt over the domains.
  template <class F>
  void deal(std::size_t count, const F& f) {
    homing::task_group children;
    for (std::size_t i = 0; i < count; ++i) {
      children.run(homing::on(share_holder(i, count)), [&f, i] { f(i); });
    }
    children.wait();
  }
  template <class F, class Data>
  void parts(const F& f, const Data&) {
    const std::uint32_t domains = homing::domain_count();
    homing::task_group group;
    const auto send = [&](std::uint32_t p) {
      group.run(homing::on(p % domains), [this, &f, p, domains] {
        if constexpr (How == sending::pinned) {
          arenas_[p % domains].execute([&f, p] { f(p); });
        } else {
          f(p);
        }
      });
    };
    // Those of other domains first, so that they have left when this thread takes its own, the newest.
    const std::uint32_t here = homing::to_index(homing::current_domain());
    for (std::uint32_t p = 0; p < part_count(); ++p) {
      if (p % domains != here) send(p);
    }
    for (std::uint32_t p = here; p < part_count(); p += domains) send(p);
    group.wait();
  }

  template <class Dist, class T>
  void place(const Dist& dist, array<T>& data) {
    if constexpr (How != sending::work) {
      const std::int64_t begun_ns = bench::wall_ns();
      const homing::placement_report& report = data.place(dist);
      moved_.ms += static_cast<double>(bench::wall_ns() - begun_ns) / 1e6;
      moved_.bytes += report.moved * homing::page_bytes();
    }
  }

 private:
  static std::uint32_t share_holder(std::size_t i, std::size_t count) {
    return static_cast<std::uint32_t>(i * homing::domain_count() / count);
  }

  std::deque<homing::domain_arena> arenas_;
};

}  // namespace programs
