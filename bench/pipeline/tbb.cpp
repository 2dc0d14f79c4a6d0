// A pipeline as programs that read, work and write have it: in order, parallel, in order.
#include <oneapi/tbb/parallel_pipeline.h>

#include "../common/harness.hpp"

namespace {

void run(bench::session& session, const char* name, std::uint64_t steps) {
  session.measure(name, [&, steps](std::uint64_t iterations) {
    std::uint64_t next = 0;
    std::uint64_t arrived = 0;
    bool in_order = true;
    const auto source = tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order,
                                                              [&](tbb::flow_control& control) -> std::uint64_t {
                                                                if (next == iterations) control.stop();
                                                                return next++;
                                                              });
    const auto worker =
        tbb::make_filter<std::uint64_t, std::uint64_t>(tbb::filter_mode::parallel, [steps](std::uint64_t item) {
          bench::keep(bench::chain(item, steps));
          return item;
        });
    const auto sink = tbb::make_filter<std::uint64_t, void>(
        tbb::filter_mode::serial_in_order, [&](std::uint64_t item) { in_order = in_order && item == arrived++; });
    tbb::parallel_pipeline(16, source & worker & sink);
    session.expect(in_order && arrived == iterations, "every item arrives, in order");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "pipeline");
  run(session, "light", 0);
  run(session, "1us", 10 * bench::steps_100_ns);
  return session.end();
}
