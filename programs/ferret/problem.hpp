// Ferret: a pipeline that looks for images like the given ones: load, segment, extract, query the index, rank
// (TBB-NUMA, figure 12). The index is in parts, one for each domain.
#pragma once

#include <homing/distribution.hpp>
#include <homing/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "../common/at_home.hpp"
#include "../common/variants.hpp"
#include "database.hpp"

namespace ferret {

using programs::request;

struct input {
  std::size_t images;
  std::size_t queries;
};

/// A query on its way.
struct item {
  std::size_t number = 0;
  picture seen;
  segmentation segments;
  features wanted;
  std::vector<match> found;
};

/// The index, which one thread makes, as loading a database would; and what each stage does.
///
/// Threads: the stages of different queries by any; a query's, one after the other.
class problem {
 public:
  explicit problem(const request& r);
  [[nodiscard]] std::size_t queries() const { return input_.queries; }
  [[nodiscard]] std::deque<part>& parts() { return parts_; }
  [[nodiscard]] const picture& pixels_of(std::size_t q) const { return pixels_[q]; }
  void forget() { results_.assign(input_.queries, {}); }

  // The stages.
  [[nodiscard]] item load(std::size_t q) const { return {q, pixels_[q], {}, {}, {}}; }
  static void segment(item& i) { i.segments = ferret::segment(i.seen); }
  static void extract(item& i) { i.wanted = ferret::extract(i.seen, i.segments); }
  void query_part(item& i, std::uint32_t p) const {
    programs::count_work(homing::domain_index{p}, 1);
    i.found = merge(i.found, parts_[p].query(i.wanted));
  }
  void query(item& i) const {
    for (std::uint32_t p = 0; p < parts_.size(); ++p) query_part(i, p);
  }
  void rank(item& i) { results_[i.number] = std::move(i.found); }
  /// All of them.
  void whole(std::size_t q) {
    item i = load(q);
    segment(i);
    extract(i);
    query(i);
    rank(i);
  }

  /// Lists as the serial variant has them; and how many of an exhaustive search's images are in them.
  [[nodiscard]] std::string wrong();
  [[nodiscard]] std::vector<homing::memory_range> data();
  [[nodiscard]] std::string note() const { return note_; }

 private:
  request request_;
  const input& input_;
  std::deque<part> parts_;
  std::vector<picture> pixels_;
  std::vector<std::vector<match>> results_;
  std::string note_;
};

/// What all variants say of themselves.
class solver_with_index {
 public:
  explicit solver_with_index(const request& r) : p_(r) {}
  void reset() { p_.forget(); }
  [[nodiscard]] std::string wrong() { return p_.wrong(); }
  [[nodiscard]] std::vector<homing::memory_range> data() { return p_.data(); }
  /// Queries.
  [[nodiscard]] double amount() const { return static_cast<double>(p_.queries()); }
  [[nodiscard]] std::string note() const { return p_.note(); }

 protected:
  problem p_;
};

[[nodiscard]] programs::description about() noexcept;

}  // namespace ferret
