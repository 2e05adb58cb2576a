-- SPDX-License-Identifier: MIT
local n = 1000000
local a, x = {}, 42
for i = 1, n do
    x = x * 16807 % 2147483647
    a[i] = x
end
if arg[1] then return end
table.sort(a)
print(a[1] .. " " .. a[500001] .. " " .. a[n])
