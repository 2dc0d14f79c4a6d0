/// A loop or a reduction over parts with homes: what each thread does with its chunk, and what comes of it.
#pragma once

#include <homing/detail/chunk_tasks.hpp>
#include <homing/detail/loop_pieces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace homing::detail {

/// The value of a loop, which has none.
struct no_value {};
struct join_nothing {
  no_value operator()(no_value, no_value) const noexcept { return {}; }
};

/// body(part number, range, value) goes on with a value; join(left, right) puts two together.
template <class Range, class Value, class Body, class Join>
class chunk_fold final : private chunked_work {
 public:
  chunk_fold(std::span<const loop_part<Range>> parts, cutting where, const Value& identity, const Body& body,
             const Join& join, tbb::task_group_context& context)
      : plan_(parts, where, memory_), where_(where), identity_(identity), body_(body), join_(join), context_(context) {
    if constexpr (has_values) values_.resize(plan_.fragments().size());
  }

  /// Errors: the first exception of a body.
  void run() {
    chunk_sender sender(*this, plan_.groups(), plan_.chunks(), context_, memory_);
    sender.run();
  }

  /// The value of each part, joined in the order of the parts; cancelled, of what was done.
  [[nodiscard]] Value take() {
    const std::span<const fragment<Range>> fragments = plan_.fragments();
    std::vector<std::uint32_t> order;
    order.reserve(fragments.size());
    for (std::uint32_t i = 0; i < fragments.size(); ++i) {
      if (values_[i].value) order.push_back(i);
    }
    const auto part_of = [&](std::uint32_t i) { return fragments[i].part; };
    if (!std::ranges::is_sorted(order, {}, part_of)) std::ranges::stable_sort(order, {}, part_of);
    Value result(identity_);
    for (const std::uint32_t i : order) result = join_(std::move(result), *std::move(values_[i].value));
    return result;
  }

 private:
  static constexpr bool has_values = !std::is_same_v<Value, no_value>;
  struct alignas(64) kept_value {
    std::optional<Value> value;
  };

  chunk_span cut(std::uint32_t group) noexcept override { return plan_.cut(group); }
  void run(const chunk& which) override {
    const settled_work here(which.home);
    run_fragments(which.first, which.last, which.home);
  }
  void run_fragments(std::uint32_t first, std::uint32_t last, std::optional<std::uint32_t> home) {
    if (first + 1 == last) {
      run_fragment(first, home);
    } else {
      const std::uint32_t middle = first + (last - first) / 2;
      const fork_lane* const here = lane_of_caller();
      fork_join([&] { run_fragments(first, middle, home); },
                [&] {
                  std::optional<settled_work> there;
                  if (lane_of_caller() != here) there.emplace(home);
                  run_fragments(middle, last, home);
                });
    }
  }
  void run_fragment(std::uint32_t i, std::optional<std::uint32_t> home) {
    if (context_.is_group_execution_cancelled()) return;
    const auto [range, part] = plan_.fragments()[i];
    const auto body = [this, part = part](const Range& r, Value v) { return body_(part, r, std::move(v)); };
    const range_fold<Range, Value, decltype(body), Join> fold(identity_, body, join_, context_, home);
    Value value = where_ == cutting::between_parts ? body(range, Value(identity_)) : fold.run(range, Value(identity_));
    if constexpr (has_values) values_[i].value.emplace(std::move(value));
  }

  loop_memory memory_;
  loop_plan<Range> plan_;
  const cutting where_;
  const Value& identity_;
  const Body& body_;
  const Join& join_;
  tbb::task_group_context& context_;
  std::vector<kept_value> values_;
};

/// body(part number, range) for each part, at its home.
template <class Range, class Body>
void for_parts(std::span<const loop_part<Range>> parts, cutting where, const Body& body,
               tbb::task_group_context& context) {
  const auto step = [&body](std::uint32_t part, const Range& r, no_value) {
    body(part, r);
    return no_value{};
  };
  const join_nothing join;
  const no_value nothing;
  chunk_fold<Range, no_value, decltype(step), join_nothing>(parts, where, nothing, step, join, context).run();
}

/// f(i) for each part i, at its home; each whole.
template <class Range, class F>
void run_parts(std::span<const loop_part<Range>> parts, tbb::task_group_context& context, const F& f) {
  const auto each = [&f](std::uint32_t part, const Range&) { f(part); };
  for_parts(parts, cutting::between_parts, each, context);
}

}  // namespace homing::detail
