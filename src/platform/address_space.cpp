/// The same, made for real.
#include "platform/address_space.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace homing::platform {
namespace {

void* pointer(address a) noexcept { return reinterpret_cast<void*>(a); }

class kernel_space final : public address_space {
 public:
  address_range map(std::size_t front, std::size_t bytes, std::size_t alignment) noexcept override {
    static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t slack = alignment > page ? alignment : 0;
    std::size_t room = 0;
    if (__builtin_add_overflow(front, bytes, &room) || __builtin_add_overflow(room, slack, &room)) return {};
    void* const at = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return {};
    const auto start = reinterpret_cast<address>(at);
    const std::size_t grain = std::max(alignment, page);
    const address aligned = (start + front + grain - 1) / grain * grain;
    const address_range wanted{aligned - front, aligned + bytes};
    if (wanted.first > start) ::munmap(at, wanted.first - start);
    if (start + room > wanted.last) ::munmap(pointer(wanted.last), start + room - wanted.last);
    return wanted;
  }
  void unmap(address_range range) noexcept override { ::munmap(pointer(range.first), range.bytes()); }
  int advise(address_range range, huge_advice advice) noexcept override {
    const int number = advice == huge_advice::wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    return ::madvise(pointer(range.first), range.bytes(), number) == 0 ? 0 : errno;
  }
  void touch(address page) noexcept override { *static_cast<volatile char*>(pointer(page)) = 0; }
};

address_space* stand_in = nullptr;

}  // namespace

address_space& kernel_address_space() noexcept {
  static kernel_space space;
  return stand_in != nullptr ? *stand_in : space;
}
void stand_in_for_address_space(address_space* other) noexcept { stand_in = other; }

}  // namespace homing::platform
