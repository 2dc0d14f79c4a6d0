/// Lets 2021.8's flow-graph tests compile with newer headers, which moved the flow graph from d1 to d2.
#pragma once

namespace tbb {
namespace detail {
namespace d2 {}
namespace d1 {
using namespace d2;
}  // namespace d1
}  // namespace detail
}  // namespace tbb
