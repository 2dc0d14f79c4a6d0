/// Marks what libhoming.so offers; everything else in it is hidden.
#pragma once

#define HOMING_API [[gnu::visibility("default")]]
