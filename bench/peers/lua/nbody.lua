-- SPDX-License-Identifier: MIT
local sqrt = math.sqrt
local PI = 3.141592653589793
local SOLAR, YEAR = 4 * PI * PI, 365.24

local function bodies()
    return {
        { x = 0, y = 0, z = 0, vx = 0, vy = 0, vz = 0, mass = SOLAR },
        { x = 4.84143144246472090, y = -1.16032004402742839, z = -0.103622044471123109,
          vx = 0.00166007664274403694 * YEAR, vy = 0.00769901118419740425 * YEAR,
          vz = -0.0000690460016972063023 * YEAR, mass = 0.000954791938424326609 * SOLAR },
        { x = 8.34336671824457987, y = 4.12479856412430479, z = -0.403523417114321381,
          vx = -0.00276742510726411 * YEAR, vy = 0.00499852801234917238 * YEAR,
          vz = 0.0000230417297573763929 * YEAR, mass = 0.000285885980666130812 * SOLAR },
        { x = 12.8943695621391310, y = -15.1111514016986312, z = -0.223307578892655734,
          vx = 0.00296460137564761618 * YEAR, vy = 0.00237847173959480950 * YEAR,
          vz = -0.0000296589568540237556 * YEAR, mass = 0.0000436624404335156298 * SOLAR },
        { x = 15.3796971148509165, y = -25.9193146099879641, z = 0.179258772950371181,
          vx = 0.00268067772490389322 * YEAR, vy = 0.00162824170038242295 * YEAR,
          vz = -0.0000951592254519715870 * YEAR, mass = 0.0000515138902046611451 * SOLAR },
    }
end

local function still(bs)
    local px, py, pz = 0, 0, 0
    for i = 1, 5 do
        local b = bs[i]
        px = px + b.vx * b.mass
        py = py + b.vy * b.mass
        pz = pz + b.vz * b.mass
    end
    bs[1].vx, bs[1].vy, bs[1].vz = -px / SOLAR, -py / SOLAR, -pz / SOLAR
end

local function energy(bs)
    local e = 0.0
    for i = 1, 5 do
        local b = bs[i]
        e = e + 0.5 * b.mass * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz)
        for j = i + 1, 5 do
            local c = bs[j]
            local dx, dy, dz = b.x - c.x, b.y - c.y, b.z - c.z
            e = e - b.mass * c.mass / sqrt(dx * dx + dy * dy + dz * dz)
        end
    end
    return e
end

local function advance(bs, dt)
    for i = 1, 5 do
        local b = bs[i]
        local bx, by, bz, mass = b.x, b.y, b.z, b.mass
        local vx, vy, vz = b.vx, b.vy, b.vz
        for j = i + 1, 5 do
            local c = bs[j]
            local dx, dy, dz = bx - c.x, by - c.y, bz - c.z
            local d2 = dx * dx + dy * dy + dz * dz
            local mag = dt / (d2 * sqrt(d2))
            local other = c.mass * mag
            vx = vx - dx * other
            vy = vy - dy * other
            vz = vz - dz * other
            local mine = mass * mag
            c.vx = c.vx + dx * mine
            c.vy = c.vy + dy * mine
            c.vz = c.vz + dz * mine
        end
        b.vx, b.vy, b.vz = vx, vy, vz
        b.x = bx + dt * vx
        b.y = by + dt * vy
        b.z = bz + dt * vz
    end
end

local bs = bodies()
still(bs)
if arg[1] then return end
for _ = 1, 1000000 do advance(bs, 0.01) end
print(string.format("%.9f", energy(bs)))
