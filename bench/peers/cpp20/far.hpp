// SPDX-License-Identifier: MIT
//
// A child in another translation unit, which the compiler cannot inline into its awaiter.
#pragma once
#include "coro.hpp"

coro::task<long> far_child(long x);
