#include "clock_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "machine.hpp"

namespace homing::lab::model {

clock_file::clock_file(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  struct stat facts {};
  const bool right_size =
      descriptor >= 0 && ::fstat(descriptor, &facts) == 0 && facts.st_size == HOMING_LAB_CLOCK_BYTES;
  void* const p = right_size
                      ? ::mmap(nullptr, HOMING_LAB_CLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
                      : MAP_FAILED;
  if (descriptor >= 0) ::close(descriptor);
  if (p == MAP_FAILED) {
    throw machine_error("clock=" + file.string() + ": expected a file of " + std::to_string(HOMING_LAB_CLOCK_BYTES) +
                        " bytes that can be written");
  }
  words_ = static_cast<std::atomic<std::uint64_t>*>(p);
}

clock_file::~clock_file() { ::munmap(words_, HOMING_LAB_CLOCK_BYTES); }

void clock_file::start(std::uint64_t epoch_s) noexcept {
  words_[1].store(epoch_s, std::memory_order_relaxed);                 // published by the next
  words_[0].store(HOMING_LAB_CLOCK_MAGIC, std::memory_order_release);  // [LT2]
}

}  // namespace homing::lab::model
