/// The production's pair itself, for the model of it; or mutate.py's, in its folder.
#pragma once

#if __has_include("src/sync/asymmetric_fence.hpp")
#include "src/sync/asymmetric_fence.hpp"
#else
#include "../../../../src/sync/asymmetric_fence.hpp"
#endif
