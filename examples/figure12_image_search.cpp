// Figure 12 of the TBB-NUMA paper, the shape of ferret: images are looked for in a database that is spread over the
// domains. Without NUMA one stage queries the entire database; with it there is a query stage for each domain, which
// runs there and queries that domain's partition, and each query takes its best match so far from stage to stage.
#include <homing/distribution.hpp>
#include <homing/parallel_pipeline.hpp>
#include <homing/placement.hpp>

#include <oneapi/tbb/task_arena.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace {

constexpr std::size_t database_size = 1 << 12;
constexpr std::size_t query_count = 1200;
constexpr std::size_t tokens = 32;  // queries under way at most
constexpr auto in_order = tbb::filter_mode::serial_in_order;

using image = std::array<float, 16>;  // what is compared of an image: its features

image make_image(std::size_t seed) {
  image result{};
  for (float& feature : result) feature = static_cast<float>((seed = seed * 1103515245 + 12345) >> 16U & 0xFFU);
  return result;
}

struct query {
  image wanted;
  std::size_t best = 0;
  float distance = std::numeric_limits<float>::max();
};

class image_database {
 public:
  image_database() : dd_(homing::block(database_size)), images_(database_size) {
    for (std::size_t i = 0; i < database_size; ++i) images_[i] = make_image(i);
    placed_ = homing::enforce(dd_, images_);  // the paper's dd.enforce(image_database)
  }
  const homing::domain_set& homes() const { return dd_.domains(); }
  void query_all(query& q) const { look_at(q, 0, database_size); }
  void query_partition(query& q, homing::domain_index home) const {
    homing::for_each_piece_of(dd_, home, 0, database_size,
                              [&](const homing::piece& p) { look_at(q, p.first, p.last); });
  }

 private:
  void look_at(query& q, std::size_t first, std::size_t last) const {
    for (std::size_t i = first; i < last; ++i) {
      float sum = 0;
      for (std::size_t k = 0; k < q.wanted.size(); ++k)
        sum += (images_[i][k] - q.wanted[k]) * (images_[i][k] - q.wanted[k]);
      if (sum < q.distance) {
        q.distance = sum;
        q.best = i;
      }
    }
  }

  homing::regular_distribution<1> dd_;
  std::vector<image> images_;
  homing::placed_range placed_;
};

std::atomic<std::size_t> at_home{0};  // queries of a partition that ran where it is

// The distances of the best matches, by query.
std::vector<float> search(const image_database& database, bool use_numa) {
  std::size_t loaded = 0;
  std::vector<float> found;
  auto pipeline = tbb::make_filter<void, query>(in_order, [&](tbb::flow_control& control) {
    if (loaded == query_count) control.stop();
    return query{make_image(7919 * ++loaded)};
  });
  const auto query_index = [&database](query q) {
    database.query_all(q);
    return q;
  };
  if (!use_numa) {
    pipeline = pipeline & tbb::make_filter<query, query>(tbb::filter_mode::parallel, query_index);
  } else {
    for (std::uint32_t d = 0; d < database.homes().size(); ++d) {
      const homing::domain_index home = database.homes()[d];
      const auto query_there = [&database, home](query q) {
        if (homing::current_domain() == home) ++at_home;
        database.query_partition(q, home);
        return q;
      };
      pipeline = pipeline & tbb::make_filter<query, query>(tbb::filter_mode::parallel, homing::on(home, query_there));
    }
  }
  const auto rank = [&found](const query& q) { found.push_back(q.distance); };
  tbb::parallel_pipeline(tokens, pipeline & tbb::make_filter<query, void>(in_order, rank));
  return found;
}

}  // namespace

int main() {
  const image_database database;
  const bool same = search(database, true) == search(database, false);
  const std::size_t steps = query_count * database.homes().size();
  std::printf("%u domains, %zu images, %zu queries: %zu of %zu steps ran at home\n", homing::domain_count(),
              database_size, query_count, at_home.load(), steps);
  std::puts(same ? "a stage for each domain finds what one stage finds" : "WRONG: the results differ");

  // Homes are hints. But on a machine as busy as it may be, they do no worse than chance; unless there are fewer
  // threads than domains, so that some have none.
  const bool judged = homing::runtime().is_homing &&
                      tbb::this_task_arena::max_concurrency() >= static_cast<int>(homing::domain_count());
  const bool helps = !judged || at_home * homing::domain_count() >= steps;
  if (!judged) std::puts("not judged: that takes Homing's scheduler, and as many threads as domains");
  if (!helps) std::puts("WRONG: fewer steps at home than by chance");
  return same && helps ? 0 : 1;
}
