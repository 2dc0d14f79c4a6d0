// Constructs: forks and joins of all forms.
#include <homing/fork_join.hpp>

#include "burn.hpp"
#include "node.hpp"

namespace stress {
namespace {

/// Void branches down to single items, and some longer leaf at which others must take what is private.
void divide(const node& n, ledger& books, std::size_t first, std::size_t count) {
  if (count == 1) {
    const ledger::entry entry(books, first);
    return run_node(n.child(first));
  }
  const std::size_t half = count / 2;
  homing::fork_join([&n, &books, first, half] { divide(n, books, first, half); },
                    [&n, &books, first, half, count] { divide(n, books, first + half, count - half); });
}

/// The same by value: the sum of the items' numbers. Here only an exception may leave items out.
std::uint64_t sum(const node& n, ledger& books, std::size_t first, std::size_t count) {
  if (count == 1) {
    const ledger::entry entry(books, first);
    run_leaf(n.child(first));
    return first;
  }
  if (count == 2) {
    const auto [left, right] = homing::fork_join([&n, &books, first] { return sum(n, books, first, 1); },
                                                 [&n, &books, first] { return sum(n, books, first + 1, 1); });
    return left + right;
  }
  const std::size_t third = count / 3;
  const auto [left, middle, right] = homing::fork_join(
      [&n, &books, first, third] { return sum(n, books, first, third); },
      [&n, &books, first, third] { return sum(n, books, first + third, third); },
      [&n, &books, first, third, count] { return sum(n, books, first + 2 * third, count - 2 * third); });
  return left + middle + right;
}

void fork_many(const node& n, std::size_t items) {
  ledger books(items);
  run_checked(n, books, "fork_join", [&] { divide(n, books, 0, items); });
}

void fork_values(const node& n, std::size_t items) {
  ledger books(items);
  run_checked(n, books, "fork_join by value", [&] {
    const std::uint64_t found = sum(n, books, 0, items);
    require(found == items * (items - 1) / 2, "fork_join: a value is wrong");
  });
}

void fork_children(const node& n, std::size_t items) {
  ledger books(items);
  run_checked(n, books, "for_children", [&] {
    homing::for_children(std::size_t{0}, items, [&](std::size_t i) {
      const ledger::entry entry(books, i);
      run_node(n.child(i));
    });
  });
}

void fork_to_domains(const node& n) {
  ledger books(3);
  const auto item = [&n, &books](std::size_t i) {
    return [&n, &books, i] {
      const ledger::entry entry(books, i);
      run_node(n.child(i));
    };
  };
  run_checked(n, books, "fork_join with addresses", [&] {
    homing::fork_join(homing::on(homing::domain_count() - 1), item(0), item(1), homing::on(0U), item(2));
  });
}

}  // namespace

void fork_construct(const node& n) {
  rng random(n.seed);
  const auto items = static_cast<std::size_t>(random.between(1, n.width));
  switch (random.below(4)) {
    case 0:
      return fork_many(n, items);
    case 1:
      return fork_values(n, items);
    case 2:
      return fork_children(n, items);
    default:
      return fork_to_domains(n);
  }
}

}  // namespace stress
