/// Nobody observes a model's arena.
#pragma once

namespace homing::scheduler {

class observer_list {};

}  // namespace homing::scheduler
