#include "platform/env_path.hpp"

#include <unistd.h>

#include <cstring>

namespace homing::platform {

env_path::env_path(const char* name, bool (*is_path)(const char* value)) noexcept {
  text_[0] = '\0';
  const auto value = env(name);
  if (!value) return;
  if (value->front() != '/' && is_path(value->data()) && ::getcwd(text_, PATH_MAX) != nullptr) {
    value_at_ = std::strlen(text_);
    text_[value_at_++] = '/';
  }
  std::memcpy(text_ + value_at_, value->data(), value->size());
  text_[value_at_ + value->size()] = '\0';
}

}  // namespace homing::platform
