-- SPDX-License-Identifier: MIT
if arg[1] then return end
local pieces = {}
for i = 1, 1000000 do pieces[i] = "item" .. i .. "," end
local all = table.concat(pieces)
local bytes = 0
for i = 1, 1000000 do
    local x = "k" .. (i % 1000) .. ":" .. i
    bytes = bytes + #x
end
print(#all .. " " .. bytes)
