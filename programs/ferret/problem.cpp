#include "problem.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

#include "../common/parts.hpp"

namespace ferret {
namespace {

constexpr input inputs[] = {{1'000, 16}, {3'544, 16}, {13'787, 64}, {34'973, 256}, {59'695, 3'500}};
constexpr programs::size_name sizes[] = {{"test", "16 queries in 1,000 images"},
                                         {"simsmall", "16 in 3,544"},
                                         {"simmedium", "64 in 13,787"},
                                         {"simlarge", "256 in 34,973"},
                                         {"native", "3,500 in 59,695"}};
constexpr int noise = 6;  // of the queries' pixels

}  // namespace

problem::problem(const request& r) : request_(r), input_(inputs[r.size]), pixels_(input_.queries) {
  std::vector<features> all(input_.images);
  for (std::size_t i = 0; i < input_.images; ++i) {
    const picture p = make_picture(i, 0, request_.seed);
    all[i] = ferret::extract(p, ferret::segment(p));
  }
  for (std::uint32_t p = 0; p < programs::part_count(); ++p) {
    const programs::interval own = programs::share_of(input_.images, programs::part_count(), p);
    parts_.emplace_back(static_cast<std::uint32_t>(own.first), std::span(all).subspan(own.first, own.size()));
  }
  for (std::size_t q = 0; q < input_.queries; ++q) {
    pixels_[q] = make_picture(q * (input_.images / input_.queries), noise, request_.seed);
  }
}

std::string problem::wrong() {
  std::size_t expected = 0;
  std::size_t found = 0;
  for (std::size_t q = 0; q < input_.queries; ++q) {
    item one = load(q);
    segment(one);
    extract(one);
    std::vector<match> all;
    for (const part& p : parts_) {
      one.found = merge(one.found, p.query(one.wanted));
      all = merge(all, p.search(one.wanted));
    }
    if (results_[q] != one.found) return "query " + std::to_string(q) + ": not the serial list";
    if (results_[q].empty() || results_[q][0].image != q * (input_.images / input_.queries)) {
      return "query " + std::to_string(q) + " does not find its own image first";
    }
    expected += all.size();
    found += static_cast<std::size_t>(std::ranges::count_if(all, [&](const match& m) {
      return std::ranges::find(results_[q], m.image, &match::image) != results_[q].end();
    }));
  }
  const double recall = static_cast<double>(found) / static_cast<double>(expected);
  char text[64];
  std::snprintf(text, sizeof text, "recall %.2f of an exhaustive search's ten", recall);
  note_ = text;
  return recall > 0.75 ? "" : note_;
}

std::vector<homing::memory_range> problem::data() {
  std::vector<homing::memory_range> all;
  for (part& p : parts_) p.for_each_array([&](auto& data) { all.push_back(data.range()); });
  return all;
}

programs::description about() noexcept {
  return {"ferret", "A pipeline that looks for similar images.", "query", sizes};
}

}  // namespace ferret
