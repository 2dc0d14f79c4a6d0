// Flow graphs: one message between two nodes (latency), one message to 64 nodes (width), and ten messages through 50
// nodes in a row that do nothing: there another thread can only be in the way.
#include <oneapi/tbb/flow_graph.h>

#include <memory>

#include "../common/harness.hpp"

namespace {

namespace flow = tbb::flow;
using node = flow::function_node<std::uint64_t>;

void ping_pong(bench::session& session) {
  session.measure("ping_pong", [&](std::uint64_t iterations) {
    flow::graph graph;
    std::uint64_t passes = 0;
    node* pong_node = nullptr;
    node ping(graph, flow::serial, [&](std::uint64_t left) {
      ++passes;
      if (left > 0) pong_node->try_put(left - 1);
      return flow::continue_msg{};
    });
    node pong(graph, flow::serial, [&](std::uint64_t left) {
      ++passes;
      if (left > 0) ping.try_put(left - 1);
      return flow::continue_msg{};
    });
    pong_node = &pong;
    ping.try_put(iterations);
    graph.wait_for_all();
    session.expect(passes == iterations + 1, "every pass is counted");
  });
}

void wide(bench::session& session) {
  constexpr std::size_t width = 64;
  using middle_node = flow::function_node<std::uint64_t, std::uint64_t>;
  session.measure("wide", [&](std::uint64_t iterations) {
    flow::graph graph;
    std::uint64_t sum = 0;
    flow::broadcast_node<std::uint64_t> source(graph);
    node sink(graph, flow::serial, [&](std::uint64_t value) {
      sum += value;
      return flow::continue_msg{};
    });
    std::vector<std::unique_ptr<middle_node>> middle;
    for (std::size_t index = 0; index < width; ++index) {
      middle.push_back(std::make_unique<middle_node>(graph, flow::unlimited, [](std::uint64_t value) {
        bench::keep(bench::chain(value, bench::steps_100_ns));
        return value;
      }));
      flow::make_edge(source, *middle.back());
      flow::make_edge(*middle.back(), sink);
    }
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      source.try_put(iteration + 1);
      graph.wait_for_all();
    }
    session.expect(sum == width * (iterations * (iterations + 1) / 2), "every message arrives");
  });
}

void chain(bench::session& session) {
  constexpr std::size_t length = 50;
  constexpr std::uint64_t messages = 10;
  using step_node = flow::function_node<std::uint64_t, std::uint64_t>;
  session.measure("chain", [&](std::uint64_t iterations) {
    flow::graph graph;
    std::uint64_t sum = 0;
    node sink(graph, flow::serial, [&](std::uint64_t value) {
      sum += value;
      return flow::continue_msg{};
    });
    std::vector<std::unique_ptr<step_node>> steps;
    for (std::size_t index = 0; index < length; ++index) {
      steps.push_back(std::make_unique<step_node>(graph, flow::serial, [](std::uint64_t value) { return value + 1; }));
      if (index > 0) flow::make_edge(*steps[index - 1], *steps[index]);
    }
    flow::make_edge(*steps.back(), sink);
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      for (std::uint64_t message = 0; message < messages; ++message) steps.front()->try_put(message);
      graph.wait_for_all();
    }
    session.expect(sum == iterations * (messages * length + messages * (messages - 1) / 2), "each passes all nodes");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "flow");
  ping_pong(session);
  wide(session);
  chain(session);
  return session.end();
}
