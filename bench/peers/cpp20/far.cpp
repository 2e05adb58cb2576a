// SPDX-License-Identifier: MIT
//
// See far.hpp.
#include "far.hpp"

coro::task<long> far_child(long x)
{
    co_return x + 1;
}
