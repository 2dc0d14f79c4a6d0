/// std::atomic as the checker's, for code that comes with std::atomic of its own: oneTBB's headers, libhoming's. To be
/// included after the standard library's headers, and before that code's.
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <atomic>
#include <cfenv>
#include <cfloat>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "platform/fork.hpp"
#include "sync/atomic.hpp"

namespace std {
template <typename T>
using homing_model_atomic = homing::model::atomic<T>;
}
namespace homing::sync {
template <typename T>
using homing_model_atomic = model::atomic<T>;
}

#define atomic homing_model_atomic
// One pause of oneTBB's, however long, is one step; `delay` counts down where it is called.
#define _mm_pause() (delay = 0, ::homing::sync::cpu_relax())
