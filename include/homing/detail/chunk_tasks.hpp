/// How a loop's chunks get to their threads, and how their end is known.
///
/// The caller sends one task, a head, to each other domain. Whoever takes it there cuts the domain's part into chunks,
/// sends them to its neighbours and keeps its own. Each domain counts its chunks on a line of its own. So what crosses
/// from one domain to another does not grow with the threads.
///
/// Ownership: tasks and counters are the caller's, until all chunks have ended.
/// Source:    TBB-NUMA 4.4.3.
#pragma once

#include <homing/detail/loop_chunks.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

namespace homing::detail {

/// What a chunk_sender sends.
class chunked_work {
 public:
  virtual chunk_span cut(std::uint32_t group) noexcept = 0;
  /// May throw.
  virtual void run(const chunk& which) = 0;

 protected:
  ~chunked_work() = default;
};

class chunk_sender {
 public:
  /// Errors: std::bad_alloc.
  chunk_sender(chunked_work& work, std::span<const chunk_group> groups, std::span<const chunk> chunks,
               tbb::task_group_context& context, loop_memory& memory)
      : work_(work),
        groups_(groups),
        chunks_(chunks),
        context_(context),
        heads_(memory.room_for<place_for<head_task>>(groups.size())),
        tasks_(memory.room_for<place_for<chunk_task>>(chunks.size())),
        wait_(static_cast<std::uint32_t>(groups.size())) {}
  chunk_sender(const chunk_sender&) = delete;
  chunk_sender& operator=(const chunk_sender&) = delete;

  /// Runs all chunks, or those that have begun when the group is cancelled, and waits for them. Errors: the first
  /// exception of one.
  void run() {
    root_task root(*this);
    d1::execute_and_wait(root, context_, wait_, context_);
  }

 private:
  /// What a task has to send on, or to run: a group that is not cut yet, or chunks of one.
  struct held_chunks {
    std::uint32_t group = 0;
    std::optional<chunk_span> cut;
  };

  /// Begins a group, in its domain.
  class head_task final : public d1::task {
   public:
    head_task(chunk_sender& of, std::uint32_t group) noexcept : of_(of), held_{group, std::nullopt} {}
    d1::task* execute(d1::execution_data& ed) override {
      of_.run_group(held_, ed);
      return nullptr;
    }
    // Also after an exception.
    d1::task* cancel(d1::execution_data&) override {
      of_.end(held_);
      return nullptr;
    }

    std::atomic<std::uint32_t> chunks_left{0};  ///< of the group: those that have not ended

   private:
    chunk_sender& of_;
    held_chunks held_;
  };

  /// Runs the first of its chunks, and sends the others on.
  class chunk_task final : public d1::task {
   public:
    chunk_task(chunk_sender& of, std::uint32_t group, chunk_span chunks) noexcept : of_(of), held_{group, chunks} {}
    d1::task* execute(d1::execution_data&) override {
      of_.work_through(held_, held_.cut->first);
      of_.end(held_);
      return nullptr;
    }
    // Also after an exception.
    d1::task* cancel(d1::execution_data&) override {
      of_.end(held_);
      return nullptr;
    }

   private:
    chunk_sender& of_;
    held_chunks held_;
  };
  template <class Task>
  struct alignas(Task) place_for {
    std::byte bytes[sizeof(Task)];
  };

  /// The caller's: sends the heads of other groups, and begins that of its own domain.
  class root_task final : public d1::task {
   public:
    explicit root_task(chunk_sender& of) : of_(of), own_(of.group_count()) {
      const std::uint32_t here = to_index(current_domain());
      for (std::uint32_t g = 0; g < of.group_count(); ++g) {
        if (of.groups_[g].domain == here) own_ = g;
      }
    }
    d1::task* execute(d1::execution_data& ed) override {
      while (next_ < of_.group_count()) {
        const std::uint32_t g = group_at(next_++);
        if (g != own_ && of_.send_head(g)) continue;
        of_.make_head(g);
        begun_ = held_chunks{g, std::nullopt};
        of_.run_group(*begun_, ed);
        begun_.reset();
      }
      return nullptr;
    }
    // Also after an exception.
    d1::task* cancel(d1::execution_data&) override {
      if (begun_) of_.end(*begun_);
      while (next_ < of_.group_count()) of_.end({group_at(next_++), std::nullopt});
      return nullptr;
    }

   private:
    /// The own one last, so that the others have left by then.
    [[nodiscard]] std::uint32_t group_at(std::uint32_t i) const noexcept {
      if (i < own_) return i;
      return i + 1 < of_.group_count() ? i + 1 : own_;
    }

    chunk_sender& of_;
    std::uint32_t own_;  ///< or none: the number of groups
    std::uint32_t next_ = 0;
    std::optional<held_chunks> begun_;
  };

  [[nodiscard]] std::uint32_t group_count() const noexcept { return static_cast<std::uint32_t>(groups_.size()); }

  head_task& make_head(std::uint32_t g) noexcept { return *new (&heads_[g]) head_task(*this, g); }
  /// Where it was made: by who sent the head, or began the group.
  [[nodiscard]] head_task& head(std::uint32_t g) const noexcept {
    return *std::launder(reinterpret_cast<head_task*>(&heads_[g]));
  }

  /// False if there is no memory for it.
  [[nodiscard]] bool send_head(std::uint32_t g) noexcept try {
    head_task& its = make_head(g);
    if (const auto domain = groups_[g].domain) {
      spawn(on(*domain), its, context_);
    } else {
      d1::spawn(its, context_);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  /// The same.
  [[nodiscard]] bool send(std::uint32_t g, chunk_span chunks) noexcept try {
    auto& t = *new (&tasks_[chunks.first]) chunk_task(*this, g, chunks);
    if (const std::uint16_t slot = chunks_[chunks.first].slot; slot != chunk::no_slot) {
      loop_door()->mail_to_slot(&t, &context_, slot, *groups_[g].domain);
    } else {
      d1::spawn(t, context_);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  void run_group(held_chunks& held, const d1::execution_data& ed) {
    const chunk_span all = work_.cut(held.group);
    head(held.group).chunks_left.store(all.last - all.first, std::memory_order_relaxed);  // before any is sent
    held.cut = all;
    std::uint32_t own = all.first;
    const std::uint16_t here = d1::execution_slot(ed);
    for (std::uint32_t c = all.first; c < all.last; ++c) {
      if (chunks_[c].slot == here) own = c;
    }
    work_through(held, own);
    end(held);
  }

  /// Sends all chunks but `own`, in parts where they are many, and runs that one; and those that there was no memory
  /// to send. What is left to do stands in `held`.
  void work_through(held_chunks& held, std::uint32_t own) {
    chunk_span& left = *held.cut;
    bool is_room = true;
    while (is_room && left.last - left.first > 1) {
      const std::uint32_t count = left.last - left.first;
      const std::uint32_t part = count <= sent_singly ? 1 : (count + 3) / 4;
      while (is_room && own - left.first >= part) {
        is_room = send(held.group, {left.first, left.first + part});
        if (is_room) left.first += part;
      }
      while (is_room && left.last - own > part) {
        is_room = send(held.group, {left.last - part, left.last});
        if (is_room) left.last -= part;
      }
    }
    for (; left.last - left.first > 1; ++left.first) {
      work_.run(chunks_[left.first]);
      end({held.group, chunk_span{left.first, left.first + 1}});
    }
    work_.run(chunks_[left.first]);
  }
  static constexpr std::uint32_t sent_singly = 8;

  /// Whoever ends the last chunk touches nothing of the loop after that.
  void end(const held_chunks& held) noexcept {
    if (held.cut) {
      const std::uint32_t count = held.cut->last - held.cut->first;
      // acq_rel: what all chunks did is visible to whoever waits.
      if (head(held.group).chunks_left.fetch_sub(count, std::memory_order_acq_rel) != count) return;
    }
    wait_.release();
  }

  chunked_work& work_;
  const std::span<const chunk_group> groups_;
  const std::span<const chunk> chunks_;
  tbb::task_group_context& context_;
  const std::span<place_for<head_task>> heads_;   ///< by group
  const std::span<place_for<chunk_task>> tasks_;  ///< by the first of their chunks
  alignas(64) d1::wait_context wait_;             ///< on a line of its own: all threads read what is above
};

}  // namespace homing::detail
