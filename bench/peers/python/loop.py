# SPDX-License-Identifier: MIT
import sys


def main():
    s = 0
    for i in range(1, 3001):
        for j in range(1, 10001):
            s = (s * 31 + i + j) % 65536
    print(s)


if len(sys.argv) == 1:
    main()
