/// The standard headers that doctest's implementation brings along.
///
/// The implementation is compiled once instead of in every program, which saves more than half of
/// the time; programs that relied on its headers without knowing get them from here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cctype>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>
