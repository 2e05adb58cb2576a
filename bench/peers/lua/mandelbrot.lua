-- SPDX-License-Identifier: MIT
if arg[1] then return end
local n, c = 400, 0
for y = 0, n - 1 do
    local ci = 2.0 * y / n - 1.0
    for x = 0, n - 1 do
        local cr = 2.0 * x / n - 1.5
        local zr, zi, k = 0.0, 0.0, 0
        while k < 100 and zr * zr + zi * zi < 4.0 do
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            k = k + 1
        end
        c = c + k
    end
end
print(c)
