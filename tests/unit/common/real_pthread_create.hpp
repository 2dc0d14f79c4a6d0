/// For tests whose own pthread_create() stands before the C library's.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

namespace homing::testing {

/// The library detaches the thread that ends its workers, and no other.
inline bool is_for_the_ender(const pthread_attr_t* attributes) noexcept {
  int how = PTHREAD_CREATE_JOINABLE;
  if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &how);
  return how == PTHREAD_CREATE_DETACHED;
}

inline int real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                               void* argument) noexcept {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}

}  // namespace homing::testing
