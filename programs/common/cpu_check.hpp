/// The programs are compiled for x86-64-v3 (2013 and later); on an older CPU they say so, instead of a SIGILL.
#pragma once

namespace programs {

/// Does nothing, but links in what runs before main(): it ends the process with a message and exit code 2 if this CPU
/// lacks an instruction set that the programs use.
void require_cpu() noexcept;

}  // namespace programs
