// A computation that contends with the program for threads, after TBB-NUMA 5.3: in another arena of the same library,
// as OpenMP, or in another process; on all domains or chosen ones; it computes in its caches, streams, or comes and
// goes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace programs {

struct contention {
  enum class place { none, arena, openmp, process };
  enum class work { compute, stream, bursts };
  place where = place::none;
  work what = work::compute;
  int threads = 0;           ///< in all; all_threads: as many as the program has, or as the domains have CPUs
  std::vector<int> domains;  ///< Linux's numbers of nodes; empty: all
  static constexpr int all_threads = -1;

  /// Reads WHERE:WHAT:THREADS[@NODE,...], or none. Returns nothing if it is something else, and what was expected.
  [[nodiscard]] static std::optional<contention> parse(std::string_view text, std::string& expected);
};

/// Contends from begin(), which returns when its first piece of work is done, until end() or its destruction: so a
/// program makes its data alone.
///
/// compute: multiplications and additions on 256 bytes a thread, which leave the private caches to the program. stream:
/// reads and writes 1 MiB a thread, over and over: more than the lab's divided caches hold, less than many real ones.
/// bursts: compute, with rests in between; how many pieces and how long it rests is drawn from the seed. A rest is a
/// sleep: on a virtual clock that is the host's time.
/// Chosen nodes have CPUs that the process may use. An arena can't have more threads than the program lets TBB have:
/// the command line refuses that.
/// Threads: its own. Ownership: of threads and of the process. Errors: std::system_error, std::runtime_error.
/// Make it while the process has one thread if it is to be another process.
class contender {
 public:
  contender(const contention& what, int program_threads, std::uint64_t seed);
  contender(const contender&) = delete;
  contender& operator=(const contender&) = delete;
  ~contender();
  void begin();
  /// Its threads or its process have ended when it returns. Throws std::runtime_error if the process had ended before:
  /// then it was not there all the time. More calls do nothing.
  void end();
  /// Pieces of work so far.
  [[nodiscard]] std::uint64_t pieces() const noexcept;
  /// How many it was made with; 0: it does not contend.
  [[nodiscard]] int threads() const noexcept { return threads_in_all_; }

 private:
  struct shared_state;
  /// As end(); returns false if the process had ended before.
  bool stop() noexcept;
  bool has_ended() noexcept;
  void begin_arenas(const contention& what, int threads, std::uint64_t seed);
  void begin_openmp(const contention& what, int threads, std::uint64_t seed);
  void make_process(const contention& what, int threads, std::uint64_t seed);

  int threads_in_all_ = 0;
  shared_state* state_ = nullptr;  // shared with the other process, if there is one
  std::function<void()> begin_threads_;
  std::vector<std::thread> threads_;
  pid_t process_ = 0;
  int begins_ = -1;  // an eventfd that the process waits for
};

}  // namespace programs
