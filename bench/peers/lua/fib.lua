-- SPDX-License-Identifier: MIT
local function fib(n)
    if n < 2 then return n end
    return fib(n - 1) + fib(n - 2)
end

if arg[1] then return end
print(fib(35))
