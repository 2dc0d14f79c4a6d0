/// The production's pair itself, for the model of it.
#pragma once

#include "../../../../src/sync/asymmetric_fence.hpp"
