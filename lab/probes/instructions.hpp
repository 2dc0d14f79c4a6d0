/// The instructions that probes measure, of the architecture that they are compiled for.
#pragma once

#if defined(__aarch64__)
#include "instructions_aarch64.hpp"
#else
#include "instructions_x86_64.hpp"
#endif
