/// The other file's function. Returns the n-th Fibonacci number (n >= 0), by forks.
#pragma once

long fibonacci_elsewhere(int n);
