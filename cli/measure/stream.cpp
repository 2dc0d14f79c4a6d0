#include "measure/stream.hpp"

#include <memory>
#include <utility>

#include "measure/stream_check.hpp"
#include "measure/team.hpp"

namespace homing::measure {
namespace {

constexpr std::size_t line_elements = 64 / sizeof(double);

// Three arrays, one behind the other. A page between them, so that arrays of a power of two don't begin at the same
// place of every cache.
class arrays {
 public:
  arrays(const stream_group& group, page_wish pages)
      : elements_(group.array_bytes / sizeof(double)),
        stride_((group.array_bytes + page_bytes() - 1) / page_bytes() * page_bytes() + page_bytes()),
        memory_(3 * stride_, group.memory, pages) {}

  /// The share of member `place` of `count`: whole cache lines, so that no two write to the same.
  [[nodiscard]] stream_part part(std::size_t place, std::size_t count) const noexcept {
    return {at(0), at(1), at(2), bound(place, count), bound(place + 1, count)};
  }
  [[nodiscard]] memory_fact fact() const { return memory_.fact(); }
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }

 private:
  [[nodiscard]] double* at(std::size_t i) const noexcept {
    return reinterpret_cast<double*>(memory_.data() + i * stride_);
  }
  [[nodiscard]] std::size_t bound(std::size_t place, std::size_t count) const noexcept {
    if (place == count) return elements_;
    return elements_ / line_elements * place / count * line_elements;
  }

  std::size_t elements_;
  std::size_t stride_;
  placed_buffer memory_;
};

}  // namespace

stream_result measure_stream(const stream_request& request) {
  std::vector<cpu_id> cpus;
  std::vector<stream_part> parts;  // of each thread
  std::vector<std::unique_ptr<arrays>> memories;
  std::size_t elements = 0;
  for (const stream_group& group : request.groups) {
    memories.push_back(std::make_unique<arrays>(group, request.pages));
    elements += memories.back()->elements();
    for (std::size_t i = 0; i < group.cpus.size(); ++i) {
      cpus.push_back(group.cpus[i]);
      parts.push_back(memories.back()->part(i, group.cpus.size()));
    }
  }

  team threads(cpus);
  threads.run([&](std::size_t i) { fill(parts[i]); });

  std::vector<std::vector<double>> rates(request.kernels.size());
  for (unsigned round = 0; round <= request.repeat; ++round) {
    for (std::size_t k = 0; k < request.kernels.size(); ++k) {
      const kernel which = request.kernels[k];
      const double seconds = threads.run([&](std::size_t i) { run_kernel(which, parts[i]); });
      const double bytes = static_cast<double>(elements) * static_cast<double>(bytes_per_element(which));
      if (round > 0) rates[k].push_back(bytes / 1e6 / seconds);
    }
  }

  const stream_values expected = expected_values(request.kernels, request.repeat + 1);
  std::vector<stream_errors> errors(parts.size());
  threads.run([&](std::size_t i) { errors[i].look_at(parts[i], expected); });

  stream_result result;
  result.unbound = threads.unbound();
  for (auto& of_kernel : rates) result.mb_per_s.push_back(summarize(std::move(of_kernel)));
  stream_errors all;
  for (const stream_errors& one : errors) all.merge(one);
  result.wrong = all.verdict();
  for (const auto& memory : memories) result.memory = together(result.memory, memory->fact());
  return result;
}

}  // namespace homing::measure
