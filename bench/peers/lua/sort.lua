-- SPDX-License-Identifier: MIT
local floor = math.floor

local function quicksort(a, low, high)
    local i, j = low, high
    local p = a[floor((low + high) / 2)]
    while i <= j do
        while a[i] < p do i = i + 1 end
        while a[j] > p do j = j - 1 end
        if i <= j then
            a[i], a[j] = a[j], a[i]
            i = i + 1
            j = j - 1
        end
    end
    if low < j then quicksort(a, low, j) end
    if i < high then quicksort(a, i, high) end
end

local n = 1000000
local a, x = {}, 42
for i = 1, n do
    x = x * 16807 % 2147483647
    a[i] = x
end
if arg[1] then return end
quicksort(a, 1, n)
print(a[1] .. " " .. a[500001] .. " " .. a[n])
