# SPDX-License-Identifier: MIT
import sys


def main():
    n = 1000000
    keys, x = [], 42
    for _ in range(n):
        x = x * 16807 % 2147483647
        keys.append("key" + str(x))
    if len(sys.argv) > 1:
        return
    m = {}
    for i in range(n):
        m[keys[i]] = i + 1
    s = 0
    for k in keys:
        s += m[k]
    print(s)


main()
