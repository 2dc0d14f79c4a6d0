// Constructs: task_group in all its forms, and flow graphs.
#include <tbb/flow_graph.h>
#include <tbb/task_group.h>

#include <thread>

#include "node.hpp"

namespace stress {
namespace {

/// run(), run(defer()) and run_and_wait() mixed in one group.
void mixed_group(const node& n, std::size_t items) {
  ledger books(items);
  tbb::task_group group;
  rng random(n.seed);
  run_checked(n, books, "task_group", [&] {
    tbb::task_handle kept;
    for (std::size_t i = 0; i < items; ++i) {
      const auto body = [&n, &books, i] {
        const ledger::entry entry(books, i);
        run_node(n.child(i));
      };
      // A wait also waits for the tasks of handles not yet run: nothing may be kept by then.
      if (kept && random.one_in(2)) group.run(std::move(kept));
      switch (kept ? 4 : random.below(5)) {
        case 0:
          group.run(group.defer(body));
          break;
        case 1:
          group.run_and_wait(body);
          break;
        case 2:
          group.run_and_wait(group.defer(body));
          break;
        case 3:
          kept = group.defer(body);
          break;
        default:
          group.run(body);
          break;
      }
    }
    if (kept) group.run(std::move(kept));
    group.wait();
  });
}

/// Tasks that add tasks to the group they are in: item i adds 2i+1 and 2i+2.
void growing_group(const node& n, std::size_t items) {
  struct tree {
    const node& n;
    ledger books;
    tbb::task_group group;
    void add(std::size_t i) {
      group.run([this, i] {
        const ledger::entry entry(books, i);
        if (2 * i + 1 < books.size()) add(2 * i + 1);
        if (2 * i + 2 < books.size()) add(2 * i + 2);
        run_node(n.child(i));
      });
    }
  };
  tree t{n, ledger(items), {}};
  run_checked(n, t.books, "task_group that grows", [&] {
    t.add(0);
    t.group.wait();
  });
}

/// A live group at every level of a recursion.
void nested_groups(const node& n, ledger& books, std::size_t first, std::size_t count) {
  if (count == 1) {
    const ledger::entry entry(books, first);
    return run_leaf(n.child(first));
  }
  tbb::task_group group;
  const std::size_t half = count / 2;
  group.run([&] { nested_groups(n, books, first, half); });
  // The wait stands outside of any handler and of unwinding: it may run tasks that suspend, after
  // which the stack goes on in another thread, and what C++ knows of a caught exception is a
  // thread's. Nor may a destructor's wait throw the other half's exception.
  std::exception_ptr thrown;
  try {
    nested_groups(n, books, first + half, count - half);
  } catch (const cut_exception&) {
    thrown = std::current_exception();
  }
  if (thrown != nullptr) group.cancel();
  try {
    group.wait();
  } catch (const cut_exception&) {
    thrown = std::current_exception();
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

/// A chain: each task runs the next one's handle, so that one task at a time is ready.
void chained_group(const node& n, std::size_t items) {
  struct chain {
    const node& n;
    ledger books;
    tbb::task_group group;
    void link(std::size_t i) {
      const ledger::entry entry(books, i);
      run_leaf(n.child(i));
      if (i + 1 < books.size()) group.run(group.defer([this, i] { link(i + 1); }));
    }
  };
  chain c{n, ledger(items), {}};
  run_checked(n, c.books, "task_group with a chain", [&] {
    c.group.run([&] { c.link(0); });
    c.group.wait();
  });
}

/// A diamond with a queueing, a limited and an unlimited node, and a priority.
void small_graph(const node& n, std::size_t items) {
  namespace flow = tbb::flow;
  rng random(n.seed);
  ledger left_books(items);
  ledger right_books(items);
  ledger joined_books(items);
  flow::graph graph;
  const std::size_t limit = random.one_in(2) ? flow::serial : flow::unlimited;
  const auto stage = [&n](ledger& books, std::size_t salt) {
    return [&n, &books, salt](std::size_t i) {
      const ledger::entry entry(books, i);
      run_node(n.child(i * 4 + salt));
      return i;
    };
  };
  flow::broadcast_node<std::size_t> source(graph);
  const flow::node_priority_t priority =
      (n.features & feature_critical) != 0 ? flow::node_priority_t(2) : flow::no_priority;
  flow::function_node<std::size_t, std::size_t> left(graph, limit, stage(left_books, 1), priority);
  flow::function_node<std::size_t, std::size_t> right(graph, flow::unlimited, stage(right_books, 2));
  using pair = std::tuple<std::size_t, std::size_t>;
  flow::join_node<pair, flow::queueing> join(graph);
  std::atomic<std::size_t> sum{0};
  flow::function_node<pair> sink(graph, flow::serial, [&](const pair& both) {
    sum.fetch_add(std::get<0>(both) + std::get<1>(both), std::memory_order_relaxed);
    const ledger::entry entry(joined_books, joined_books.ran());
  });
  flow::make_edge(source, left);
  flow::make_edge(source, right);
  flow::make_edge(left, flow::input_port<0>(join));
  flow::make_edge(right, flow::input_port<1>(join));
  flow::make_edge(join, sink);
  run_checked(n, joined_books, "flow graph", [&] {
    for (std::size_t i = 0; i < items; ++i) source.try_put(i);
    {
      const region_scope lifted(*n.env, nullptr);
      graph.wait_for_all();
    }
  });
  if (!n.may_be_incomplete()) {
    require(left_books.complete() && right_books.complete(), "flow graph: lost messages");
    require(sum == items * (items - 1), "flow graph: wrong sum");
  }
}

/// An async node answered by a thread that knows nothing of TBB.
void async_graph(const node& n, std::size_t items) {
  namespace flow = tbb::flow;
  using async = flow::async_node<std::size_t, std::size_t>;
  ledger books(items);
  flow::graph graph;
  std::vector<std::thread> answers;
  answers.reserve(items);
  async outside(graph, flow::serial, [&](std::size_t i, async::gateway_type& gateway) {
    gateway.reserve_wait();
    answers.emplace_back([&gateway, i] {
      gateway.try_put(i);
      gateway.release_wait();
    });
  });
  flow::function_node<std::size_t> sink(graph, flow::unlimited, [&](std::size_t i) {
    const ledger::entry entry(books, i);
    node inner = n.child(i);
    inner.scope = nullptr;  // no exception may leave: the threads are still to be joined
    run_leaf(inner);
  });
  flow::make_edge(outside, sink);
  for (std::size_t i = 0; i < items; ++i) outside.try_put(i);
  {
    const region_scope lifted(*n.env, nullptr);
    graph.wait_for_all();
  }
  for (std::thread& answer : answers) answer.join();
  require(books.complete() || n.may_be_incomplete(), "async_node: lost messages");
}

}  // namespace

void group_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  switch (random.below(4)) {
    case 0:
      return mixed_group(n, items);
    case 1:
      return growing_group(n, items);
    case 2:
      return chained_group(n, items);
    default: {
      ledger books(items * 8);
      return run_checked(n, books, "nested task_groups", [&] { nested_groups(n, books, 0, books.size()); });
    }
  }
}

void graph_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  if (random.one_in(8)) return async_graph(n, items < 4 ? items : 4);
  small_graph(n, items);
}

}  // namespace stress
