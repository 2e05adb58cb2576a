/* SPDX-License-Identifier: MIT */
/* Checksums: the check values of the catalogues of CRCs, the address, and that they can be continued. */
#include "device/checksum.h"

#include "tap.h"

int main(void)
{
    static unsigned char bytes[70000];
    const unsigned char address[8] = { 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01 };

    EQ(coir_crc_more(0, "123456789", 9), 0xE3069283, "CRC-32C's check value");
    EQ((int64_t)coir_crc64("123456789", 9), (int64_t)0x995DC9BBDF1939FA, "CRC-64/XZ's check value");
    EQ(coir_crc_more(0, bytes, 32), 0x8A9136AA, "CRC-32C of 32 zeros, from RFC 3720");
    EQ(coir_crc(0x0102030405060708, "x", 1), coir_crc_more(coir_crc_more(0, address, 8), "x", 1),
       "the address comes first, its least byte first");
    OK(coir_crc(1, bytes, 4096) != coir_crc(2, bytes, 4096), "another address, another sum");

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 131 >> 3);
    const uint32_t whole = coir_crc(77, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 9973)
        EQ(coir_crc_more(coir_crc(77, bytes, cut), bytes + cut, sizeof bytes - cut), whole, "continued at %zu", cut);
    EQ(coir_crc(77, NULL, 0), coir_crc_more(0, (unsigned char[8]){ 77 }, 8), "of nothing: the address alone");
    return DONE();
}
