// Threads bound to CPUs, dealt over the domains; and let go again.
#pragma once

namespace jacobi {

/// Binds the calling thread, the `rank`-th of `count`, to one CPU of its domain until unpin_thread(). Ranks fill the
/// machine's CPUs in order of domain, spread evenly if there are fewer ranks than CPUs, in rounds if there are more.
/// On a virtual machine: to a real CPU that its domain was dealt. A refusal (a sandbox) is one line on stderr.
/// Threads: any. Source: section 1.4, "we enforced strict thread-core affinity".
void pin_thread(int rank, int count);
void unpin_thread() noexcept;

}  // namespace jacobi
