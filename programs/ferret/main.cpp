// Ferret: a pipeline that looks for images like the given ones: load, segment, extract, query the index, rank. With
// Homing the index has a stage for each domain, which runs where its part is (TBB-NUMA, figure 12).
#include <homing/parallel_pipeline.hpp>

#include <oneapi/tbb/parallel_pipeline.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <iterator>
#include <vector>

#include "../common/models.hpp"
#include "database.hpp"

namespace {

using namespace programs;
using namespace ferret;

struct input {
  std::size_t images;
  std::size_t queries;
};
constexpr input inputs[] = {{1'000, 16}, {3'544, 16}, {13'787, 64}, {34'973, 256}, {59'695, 3'500}};
constexpr size_name sizes[] = {{"test", "16 queries in 1,000 images"},
                               {"simsmall", "16 in 3,544"},
                               {"simmedium", "64 in 13,787"},
                               {"simlarge", "256 in 34,973"},
                               {"native", "3,500 in 59,695"}};
constexpr int noise = 6;  // of the queries' pixels

/// A query on its way.
struct item {
  std::size_t number = 0;
  picture seen;
  segmentation segments;
  features wanted;
  std::vector<match> found;
};

template <class Model>
class solver {
 public:
  solver(const request& r, Model& model)
      : request_(r),
        input_(inputs[r.size]),
        model_(model),
        threads_(static_cast<std::size_t>(r.threads)),
        images_(input_.images),
        pixels_(input_.queries) {
    std::vector<features> all(input_.images);
    model_.loop(images_, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const picture p = make_picture(i, 0, request_.seed);
        all[i] = extract(p, segment(p));
      }
    });
    for (std::uint32_t p = 0; p < part_count(); ++p) {
      const interval own = share_of(input_.images, part_count(), p);
      parts_.emplace_back(static_cast<std::uint32_t>(own.first), std::span(all).subspan(own.first, own.size()));
      parts_.back().for_each_array([&](auto& data) {
        model_.place(homing::block(data.size(), homing::domain_set{homing::domain_index{p}}), data);
      });
    }
    for (std::size_t q = 0; q < input_.queries; ++q) {
      pixels_[q] = make_picture(q * (input_.images / input_.queries), noise, request_.seed);
    }
  }
  void reset() { results_.assign(input_.queries, {}); }
  void run() { run_on(model_); }
  [[nodiscard]] std::string wrong() {
    std::size_t expected = 0;
    std::size_t found = 0;
    for (std::size_t q = 0; q < input_.queries; ++q) {
      item one = load(q);
      prepare(one);
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
  [[nodiscard]] std::vector<homing::memory_range> data() {
    std::vector<homing::memory_range> all;
    for (part& p : parts_) p.for_each_array([&](auto& data) { all.push_back(data.range()); });
    return all;
  }
  /// Queries.
  [[nodiscard]] double amount() const { return static_cast<double>(input_.queries); }
  [[nodiscard]] std::string note() const { return note_; }

 private:
  // The stages.
  [[nodiscard]] item load(std::size_t q) const {
    item i;
    i.number = q;
    i.seen = pixels_[q];
    return i;
  }
  static void prepare(item& i) {
    i.segments = segment(i.seen);
    i.wanted = extract(i.seen, i.segments);
  }
  void query(item& i, std::uint32_t p) const {
    count_work(homing::domain_index{p}, 1);
    i.found = merge(i.found, parts_[p].query(i.wanted));
  }
  void query_all(item& i) const {
    for (std::uint32_t p = 0; p < part_count(); ++p) query(i, p);
  }
  void rank(item& i) { results_[i.number] = std::move(i.found); }

  void run_on(serial_model&) {
    for (std::size_t q = 0; q < input_.queries; ++q) whole(q);
  }
  void whole(std::size_t q) {
    item i = load(q);
    prepare(i);
    query_all(i);
    rank(i);
  }
  /// Tasks have no pipeline: one for each query, and the list of results has the order.
  template <binding Threads>
  void run_on(openmp_model<Threads>& m) {
    m.root([&] { m.all(input_.queries, [this](std::size_t q) { whole(q); }); });
  }
  void run_on(tbb_auto&) { run_pipeline({0, input_.queries}, all_parts()); }
  /// In each arena a pipeline of its own, for its share of the queries.
  void run_on(tbb_arenas& m) {
    m.in_each([&](std::size_t a) { run_pipeline(share_of(input_.queries, m.count(), a), all_parts()); });
  }
  template <sending How>
  void run_on(homing_model<How>&) {
    using tbb::filter_mode;
    const auto stage = [this](std::uint32_t p) {
      const auto query_part = [this, p](item* i) {
        query(*i, p);
        return i;
      };
      return tbb::make_filter<item*, item*>(filter_mode::parallel, homing::on(p % homing::domain_count(), query_part));
    };
    auto stages = stage(0);
    for (std::uint32_t p = 1; p < part_count(); ++p) stages = stages & stage(p);
    run_pipeline({0, input_.queries}, stages);
  }

  [[nodiscard]] tbb::filter<item*, item*> all_parts() const {
    return tbb::make_filter<item*, item*>(tbb::filter_mode::parallel, [this](item* i) {
      query_all(*i);
      return i;
    });
  }
  void run_pipeline(const interval& queries, const tbb::filter<item*, item*>& index) {
    using tbb::filter_mode;
    std::size_t next = queries.first;
    const auto loading =
        tbb::make_filter<void, item*>(filter_mode::serial_in_order, [&](tbb::flow_control& control) -> item* {
          if (next == queries.last) {
            control.stop();
            return nullptr;
          }
          return new item(load(next++));
        });
    const auto segmenting = tbb::make_filter<item*, item*>(filter_mode::parallel, [](item* i) {
      i->segments = segment(i->seen);
      return i;
    });
    const auto extracting = tbb::make_filter<item*, item*>(filter_mode::parallel, [](item* i) {
      i->wanted = extract(i->seen, i->segments);
      return i;
    });
    const auto ranking = tbb::make_filter<item*, void>(filter_mode::serial_in_order, [this](item* i) {
      rank(*i);
      delete i;
    });
    tbb::parallel_pipeline(4 * threads_, loading & segmenting & extracting & index & ranking);
  }

  request request_;
  const input& input_;
  Model& model_;
  std::size_t threads_;
  space images_;
  std::deque<part> parts_;
  std::vector<picture> pixels_;
  std::vector<std::vector<match>> results_;
  std::string note_;
};

}  // namespace

int main(int argc, char** argv) {
  return run_program<solver, serial_model, tbb_auto, tbb_arenas, openmp, openmp_affinity, homing_sent, homing_placed>(
      argc, argv, {"ferret", "A pipeline that looks for similar images.", "query", sizes});
}
