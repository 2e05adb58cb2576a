-- SPDX-License-Identifier: MIT
local n = 1000000
local keys, x = {}, 42
for i = 1, n do
    x = x * 16807 % 2147483647
    keys[i] = "key" .. x
end
if arg[1] then return end
local m = {}
for i = 1, n do m[keys[i]] = i end
local s = 0
for i = 1, n do s = s + m[keys[i]] end
print(string.format("%d", s))
