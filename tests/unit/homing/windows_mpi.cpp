// Memory that MPI has allocated is placed like any other, and each rank sees what another has placed. Two ranks, or
// one.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <homing/placement.hpp>

#include <cstdlib>
#include <stdexcept>

#include "unit/common/placement_fixture.hpp"

namespace {

using namespace homing;
using namespace homing::testing;

using bytes_of = std::span<unsigned char>;

struct place_in_world {
  int rank = 0;
  int size = 0;
  place_in_world() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

// Written, placed, placed again, as it was.
void expect_placed(bytes_of bytes, const char* what) {
  SCOPED_TRACE(what);
  fill(bytes);
  const auto d = block(bytes.size());
  const placed_range placed = enforce(d, bytes);
  const placement_report& r = placed.report();
  EXPECT_TRUE(r.complete()) << r.describe();
  EXPECT_GE(r.asked, bytes.size() / page_bytes() - 1);
  EXPECT_EQ(enforce(d, bytes).report().moved, 0U) << "again";
  const verification v = verify(d, bytes);
  EXPECT_EQ(v.asked, r.asked);
  EXPECT_EQ(v.share_at_home(), 1.0);
  EXPECT_TRUE(is_filled(bytes));
}

constexpr std::size_t pages = 40;

/// Each rank's own part of a window whose memory MPI allocates by `allocate`.
class allocated_window {
 public:
  using allocate_call = int(MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*);
  explicit allocated_window(allocate_call& allocate) {
    if (allocate(pages * page_bytes(), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &handle_) != MPI_SUCCESS) {
      throw std::runtime_error("MPI gives no window");
    }
  }
  allocated_window(const allocated_window&) = delete;
  allocated_window& operator=(const allocated_window&) = delete;
  ~allocated_window() { MPI_Win_free(&handle_); }
  [[nodiscard]] bytes_of span() const { return {static_cast<unsigned char*>(base_), pages * page_bytes()}; }
  [[nodiscard]] bytes_of part_of(int rank) const {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* its = nullptr;
    EXPECT_EQ(MPI_Win_shared_query(handle_, rank, &bytes, &unit, &its), MPI_SUCCESS);
    return {static_cast<unsigned char*>(its), static_cast<std::size_t>(bytes)};
  }

 private:
  void* base_ = nullptr;
  MPI_Win handle_ = MPI_WIN_NULL;
};

TEST(mpi, windows_of_its_own_memory_are_placed) {
  const allocated_window window(MPI_Win_allocate);
  expect_placed(window.span(), "MPI_Win_allocate");
}

TEST(mpi, windows_of_given_memory_are_placed) {
  const own_memory memory(pages);
  MPI_Win window = MPI_WIN_NULL;
  ASSERT_EQ(MPI_Win_create(memory.span().data(), static_cast<MPI_Aint>(memory.span().size()), 1, MPI_INFO_NULL,
                           MPI_COMM_WORLD, &window),
            MPI_SUCCESS);
  expect_placed(memory.span(), "MPI_Win_create");
  MPI_Win_free(&window);
}

TEST(mpi, shared_windows_are_placed_by_their_ranks_and_seen_by_all) {
  const place_in_world me;
  const allocated_window window(MPI_Win_allocate_shared);
  expect_placed(window.span(), "MPI_Win_allocate_shared");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int rank = 0; rank < me.size; ++rank) {
    const bytes_of seen = window.part_of(rank);
    EXPECT_TRUE(is_filled(seen)) << "rank " << me.rank << " sees what rank " << rank << " has written";
    const verification v = verify(block(seen.size()), seen);
    EXPECT_EQ(v.at_home + v.untouched, v.asked) << "rank " << me.rank << " looks at the memory of rank " << rank;
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  // Open MPI 4.1's component "rdma" refuses MPI_Win_create in a job of one rank, as Open MPI's users have reported;
  // others of its components do the same work. MPICH doesn't read the variable.
  setenv("OMPI_MCA_osc", "^rdma", 0);
  MPI_Init(&argc, &argv);
  ::testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
