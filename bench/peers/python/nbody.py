# SPDX-License-Identifier: MIT
import math
import sys

PI = 3.141592653589793
SOLAR, YEAR = 4 * PI * PI, 365.24


class Body:
    __slots__ = ("x", "y", "z", "vx", "vy", "vz", "mass")

    def __init__(self, x, y, z, vx, vy, vz, mass):
        self.x, self.y, self.z = x, y, z
        self.vx, self.vy, self.vz, self.mass = vx, vy, vz, mass


def bodies():
    return [
        Body(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SOLAR),
        Body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.00166007664274403694 * YEAR,
             0.00769901118419740425 * YEAR, -0.0000690460016972063023 * YEAR, 0.000954791938424326609 * SOLAR),
        Body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -0.00276742510726411 * YEAR,
             0.00499852801234917238 * YEAR, 0.0000230417297573763929 * YEAR, 0.000285885980666130812 * SOLAR),
        Body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 0.00296460137564761618 * YEAR,
             0.00237847173959480950 * YEAR, -0.0000296589568540237556 * YEAR, 0.0000436624404335156298 * SOLAR),
        Body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.00268067772490389322 * YEAR,
             0.00162824170038242295 * YEAR, -0.0000951592254519715870 * YEAR, 0.0000515138902046611451 * SOLAR),
    ]


def still(bs):
    px = py = pz = 0.0
    for b in bs:
        px += b.vx * b.mass
        py += b.vy * b.mass
        pz += b.vz * b.mass
    bs[0].vx, bs[0].vy, bs[0].vz = -px / SOLAR, -py / SOLAR, -pz / SOLAR


def energy(bs):
    e = 0.0
    for i, b in enumerate(bs):
        e += 0.5 * b.mass * (b.vx * b.vx + b.vy * b.vy + b.vz * b.vz)
        for c in bs[i + 1:]:
            dx, dy, dz = b.x - c.x, b.y - c.y, b.z - c.z
            e -= b.mass * c.mass / math.sqrt(dx * dx + dy * dy + dz * dz)
    return e


def advance(bs, dt, sqrt=math.sqrt):
    for i in range(5):
        b = bs[i]
        bx, by, bz, mass = b.x, b.y, b.z, b.mass
        vx, vy, vz = b.vx, b.vy, b.vz
        for j in range(i + 1, 5):
            c = bs[j]
            dx, dy, dz = bx - c.x, by - c.y, bz - c.z
            d2 = dx * dx + dy * dy + dz * dz
            mag = dt / (d2 * sqrt(d2))
            other = c.mass * mag
            vx -= dx * other
            vy -= dy * other
            vz -= dz * other
            mine = mass * mag
            c.vx += dx * mine
            c.vy += dy * mine
            c.vz += dz * mine
        b.vx, b.vy, b.vz = vx, vy, vz
        b.x = bx + dt * vx
        b.y = by + dt * vy
        b.z = bz + dt * vz


def main():
    bs = bodies()
    still(bs)
    if len(sys.argv) > 1:
        return
    for _ in range(1000000):
        advance(bs, 0.01)
    print("%.9f" % energy(bs))


main()
