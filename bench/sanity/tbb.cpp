// Programs with work in them and answers that everybody knows: no runtime should differ much here.
#include <oneapi/tbb/blocked_range2d.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>

#include "../common/harness.hpp"

namespace {

using range = tbb::blocked_range<std::uint64_t>;

/// Solutions with the rows below `row` still free; queens are columns and diagonals as bit sets.
std::uint64_t queens(unsigned size, unsigned row, unsigned columns, unsigned left, unsigned right) {
  if (row == size) return 1;
  const unsigned all = (1U << size) - 1;
  const unsigned free = all & ~(columns | left | right);
  const auto place = [&](unsigned bit) {
    return queens(size, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  };
  std::uint64_t count = 0;
  if (row < 3) {
    return tbb::parallel_reduce(
        range(0, size, 1), std::uint64_t{0},
        [&](const range& part, std::uint64_t partial) {
          for (std::uint64_t column = part.begin(); column != part.end(); ++column) {
            const unsigned bit = 1U << column;
            if ((free & bit) != 0) partial += place(bit);
          }
          return partial;
        },
        [](std::uint64_t one, std::uint64_t other) { return one + other; });
  }
  for (unsigned rest = free; rest != 0; rest &= rest - 1) count += place(rest & (~rest + 1));
  return count;
}

/// Primes in [part.begin(), part.end()), by sieving with the odd primes up to the root.
std::uint64_t primes_in(const range& part, const std::vector<std::uint64_t>& roots) {
  std::vector<char> composite(part.size(), 0);
  for (const std::uint64_t prime : roots) {
    const std::uint64_t first = std::max(prime * prime, (part.begin() + prime - 1) / prime * prime);
    for (std::uint64_t multiple = first; multiple < part.end(); multiple += prime) {
      composite[multiple - part.begin()] = 1;
    }
  }
  std::uint64_t count = 0;
  for (std::uint64_t value = std::max<std::uint64_t>(part.begin(), 2); value < part.end(); ++value) {
    count += composite[value - part.begin()] == 0 ? 1 : 0;
  }
  return count;
}

std::uint64_t primes_below(std::uint64_t limit) {
  std::vector<std::uint64_t> roots;
  for (std::uint64_t value = 2; value * value < limit; ++value) {
    const bool prime = std::all_of(roots.begin(), roots.end(), [&](std::uint64_t root) { return value % root != 0; });
    if (prime) roots.push_back(value);
  }
  return tbb::parallel_reduce(
      range(0, limit, 32'768), std::uint64_t{0},
      [&](const range& part, std::uint64_t partial) { return partial + primes_in(part, roots); },
      [](std::uint64_t one, std::uint64_t other) { return one + other; }, tbb::simple_partitioner{});
}

/// c = a * b for square matrices, by rows and columns of blocks.
void multiply(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& c, std::size_t size) {
  using block = tbb::blocked_range2d<std::size_t>;
  tbb::parallel_for(block(0, size, 32, 0, size, 64), [&](const block& part) {
    for (std::size_t row = part.rows().begin(); row != part.rows().end(); ++row) {
      for (std::size_t column = part.cols().begin(); column != part.cols().end(); ++column) {
        c[row * size + column] = 0;
      }
      for (std::size_t inner = 0; inner < size; ++inner) {
        const double factor = a[row * size + inner];
        for (std::size_t column = part.cols().begin(); column != part.cols().end(); ++column) {
          c[row * size + column] += factor * b[inner * size + column];
        }
      }
    }
  });
}

void matmul(bench::session& session) {
  constexpr std::size_t size = 256;
  std::vector<double> a(size * size);
  std::vector<double> b(size * size);
  std::vector<double> c(size * size);
  for (std::size_t index = 0; index < size * size; ++index) {
    a[index] = static_cast<double>(bench::mix(index) % 10);
    b[index] = static_cast<double>(bench::mix(~index) % 10);
  }
  // Small whole numbers, so the sum of all elements of c is exact: that of column sums of a times
  // row sums of b.
  double answer = 0;
  for (std::size_t inner = 0; inner < size; ++inner) {
    double column_sum = 0;
    double row_sum = 0;
    for (std::size_t index = 0; index < size; ++index) {
      column_sum += a[index * size + inner];
      row_sum += b[inner * size + index];
    }
    answer += column_sum * row_sum;
  }
  session.measure("matmul_256", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      multiply(a, b, c, size);
      double sum = 0;
      for (const double element : c) sum += element;
      session.expect(sum == answer, "the sum of the product's elements");
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::session session(argc, argv, "sanity");
  session.measure("nqueens_10", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      session.expect(queens(10, 0, 0, 0, 0) == 724, "724 solutions for 10 queens");
    }
  });
  session.measure("primes_10m", [&](std::uint64_t iterations) {
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      session.expect(primes_below(10'000'000) == 664'579, "664579 primes below 10^7");
    }
  });
  matmul(session);
  return session.end();
}
