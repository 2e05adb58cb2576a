# SPDX-License-Identifier: MIT
import sys


def quicksort(a, low, high):
    i, j = low, high
    p = a[(low + high) // 2]
    while i <= j:
        while a[i] < p:
            i += 1
        while a[j] > p:
            j -= 1
        if i <= j:
            a[i], a[j] = a[j], a[i]
            i += 1
            j -= 1
    if low < j:
        quicksort(a, low, j)
    if i < high:
        quicksort(a, i, high)


def main():
    n = 1000000
    a, x = [], 42
    for _ in range(n):
        x = x * 16807 % 2147483647
        a.append(x)
    if len(sys.argv) > 1:
        return
    quicksort(a, 0, n - 1)
    print(a[0], a[n // 2], a[n - 1])


main()
