# SPDX-License-Identifier: MIT
import sys


def main():
    pieces = []
    for i in range(1, 1000001):
        pieces.append("item" + str(i) + ",")
    everything = "".join(pieces)
    size = 0
    for i in range(1, 1000001):
        x = "k" + str(i % 1000) + ":" + str(i)
        size += len(x)
    print(len(everything), size)


if len(sys.argv) == 1:
    main()
