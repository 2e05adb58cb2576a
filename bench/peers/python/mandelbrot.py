# SPDX-License-Identifier: MIT
import sys


def main():
    n, c = 400, 0
    for y in range(n):
        ci = 2.0 * y / n - 1.0
        for x in range(n):
            cr = 2.0 * x / n - 1.5
            zr, zi, k = 0.0, 0.0, 0
            while k < 100 and zr * zr + zi * zi < 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                k += 1
            c += k
    print(c)


if len(sys.argv) == 1:
    main()
