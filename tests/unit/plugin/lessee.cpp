// A library without TBB that takes leases of threads, as a program may load before one that brings a scheduler.
#include <homing/lease.hpp>

/// Whether somebody manages threads now.
extern "C" [[gnu::visibility("default")]] bool lessee_is_managed() { return homing::lease(2).is_managed(); }
