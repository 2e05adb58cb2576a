# SPDX-License-Identifier: MIT
import functools
import sys


def main():
    n = 1000000
    a, x = [], 42
    for _ in range(n):
        x = x * 16807 % 2147483647
        a.append(x)
    if len(sys.argv) > 1:
        return
    a.sort(key=functools.cmp_to_key(lambda p, q: q - p))
    print(a[0], a[n // 2], a[n - 1])


main()
