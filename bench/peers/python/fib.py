# SPDX-License-Identifier: MIT
import sys


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


if len(sys.argv) == 1:
    print(fib(35))
