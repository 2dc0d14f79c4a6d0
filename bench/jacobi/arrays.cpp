#include "arrays.hpp"

#include <sys/mman.h>

#include <new>

namespace jacobi {

fresh_array::fresh_array(std::size_t count)
    : bytes_(count * sizeof(double)),
      data_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (data_ == MAP_FAILED) throw std::bad_alloc();
}

fresh_array::~fresh_array() {
  if (data_ == nullptr) return;
  dealt_.reset();  // a made-up machine's book has to hear of the end
  ::munmap(data_, bytes_);
}

}  // namespace jacobi
