# SPDX-License-Identifier: MIT
print("hello, world")
