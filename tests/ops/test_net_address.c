/* SPDX-License-Identifier: MIT */
/*
 * Addresses read and written: what is one, byte for byte, what is none, and that writing never passes the end.
 */
#include <net/if.h>

#include "ops/net.h"

static struct sockaddr_storage at;
static char text[COIR_ADDRESS_TEXT];

static void reads_v4(const char *in, uint32_t host, uint16_t port, const char *out)
{
    const struct sockaddr_in *a = (const struct sockaddr_in *)&at;

    EQ(coir_address(in, &at), sizeof *a, "%s: is one", in);
    EQ(at.ss_family, AF_INET, "%s: of IPv4", in);
    EQ(ntohl(a->sin_addr.s_addr), host, "%s: host", in);
    EQ(ntohs(a->sin_port), port, "%s: port", in);
    EQ(coir_address_len(&at), sizeof *a, "%s: its length", in);
    STR_EQ(coir_address_text(&at, sizeof *a, text, sizeof text), out, "%s: written", in);
}

static void reads_v6(const char *in, const unsigned char *host, uint16_t port, unsigned zone, const char *out)
{
    const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)&at;

    EQ(coir_address(in, &at), sizeof *a, "%s: is one", in);
    EQ(at.ss_family, AF_INET6, "%s: of IPv6", in);
    MEM_EQ(&a->sin6_addr, host, 16, "%s: host", in);
    EQ(ntohs(a->sin6_port), port, "%s: port", in);
    EQ(a->sin6_scope_id, zone, "%s: zone", in);
    EQ(coir_address_len(&at), sizeof *a, "%s: its length", in);
    STR_EQ(coir_address_text(&at, sizeof *a, text, sizeof text), out, "%s: written", in);
}

static void reads_unix(const char *in, int len, const char *path, size_t n)
{
    const struct sockaddr_un *a = (const struct sockaddr_un *)&at;

    EQ(coir_address(in, &at), len, "%s: is one", in);
    EQ(at.ss_family, AF_UNIX, "%s: of a Unix socket", in);
    MEM_EQ(a->sun_path, path, n, "%s: its path", in);
    EQ(coir_address_len(&at), len, "%s: its length", in);
    STR_EQ(coir_address_text(&at, (socklen_t)len, text, sizeof text), in, "%s: written", in);
}

static void refuses(const char *in, int wanted)
{
    EQ(coir_address(in, &at), wanted, "refuses \"%s\"", in);
}

static void paths(void)
{
    char in[128] = "unix:/";

    reads_unix("unix:/tmp/x", 2 + 6 + 1, "/tmp/x", 7);
    reads_unix("unix:x", 2 + 1 + 1, "x", 2);
    reads_unix("unix:@name", 2 + 5, "\0name\0", 6);
    reads_unix("unix:a@b:7", 2 + 5 + 1, "a@b:7", 6);
    memset(in + 6, 'p', 106);
    reads_unix(in, 2 + 107 + 1, in + 5, 108);
    memset(in + 6, 'p', 107);
    refuses(in, -ENAMETOOLONG);
    in[5] = '@';
    reads_unix(in, 2 + 108, "\0ppp", 4);
    refuses("unix:", -EINVAL);
    refuses("unix:@", -EINVAL);
}

static void odd(void)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "\0a\nb" };
    char tiny[8];

    STR_EQ(coir_address_text((struct sockaddr_storage *)&un, 2, text, sizeof text), "unix:", "without a name");
    STR_EQ(coir_address_text((struct sockaddr_storage *)&un, 6, text, sizeof text), "unix:@a?b",
           "a byte that is no text");
    memset(&at, 0, sizeof at);
    at.ss_family = AF_NETLINK;
    STR_EQ(coir_address_text(&at, sizeof at, text, sizeof text), "?", "another family");
    EQ(coir_address_len(&at), 0, "has no length here");
    STR_EQ(coir_address_text(&at, 0, text, sizeof text), "?", "no address");
    at.ss_family = AF_INET6;
    STR_EQ(coir_address_text(&at, 16, text, sizeof text), "?", "half an address");
    EQ(coir_address("127.0.0.1:8080", &at), sizeof(struct sockaddr_in), "one to cut");
    STR_EQ(coir_address_text(&at, sizeof(struct sockaddr_in), tiny, sizeof tiny), "127.0.0", "cut");
    memset(text, 'x', sizeof text);
    coir_address_text(&at, sizeof(struct sockaddr_in), text, 0);
    EQ(text[0], 'x', "no room: nothing is written");
}

int main(void)
{
    static const unsigned char one[16] = { [15] = 1 }, any[16], doc[16] = { 0x20, 1, 0x0d, 0xb8, [15] = 0x42 };
    static const unsigned char local[16] = { 0xfe, 0x80, [15] = 1 };
    char name[IF_NAMESIZE], in[64];
    const unsigned lo = if_nametoindex("lo");

    reads_v4("127.0.0.1:80", 0x7f000001, 80, "127.0.0.1:80");
    reads_v4("0.0.0.0:0", 0, 0, "0.0.0.0:0");
    reads_v4("255.1.2.3:65535", 0xff010203, 65535, "255.1.2.3:65535");
    reads_v4("1.2.3.4:00080", 0x01020304, 80, "1.2.3.4:80");
    reads_v6("[::1]:443", one, 443, 0, "[::1]:443");
    reads_v6("[::]:0", any, 0, 0, "[::]:0");
    reads_v6("[2001:DB8::42]:1", doc, 1, 0, "[2001:db8::42]:1");
    if (lo && if_indextoname(lo, name)) {
        snprintf(in, sizeof in, "[fe80::1%%%s]:9", name);
        reads_v6(in, local, 9, lo, in);
        snprintf(in, sizeof in, "[fe80::1%%%u]:9", lo);
        reads_v6(in, local, 9, lo, "[fe80::1%lo]:9");
    } else {
        SKIP("there is no interface lo");
    }
    paths();
    odd();
    static const char *const none[] = {
        "", ":", "80", ":80", "1.2.3.4", "1.2.3.4:", "1.2.3.4:http", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4: 1",
        "1.2.3.4:+1", "1.2.3.4:1 ", "1.2.3.4:000080", "1.2.3:80", "1.2.3.4.5:80", "1.2.3.256:80", " 1.2.3.4:80",
        "localhost:80", "::1:80", "[::1]", "[::1]80", "[::1:80", "::1]:80", "[]:80", "[1.2.3.4]:80", "[::g]:80",
        "[fe80::1%nosuchif0]:1",
        "[fe80::1%]:1", "[::1]:99999", "unix", "UNIX:/x", "*:80", "[::1]]:80",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        refuses(none[i], -EINVAL);
    memset(in, '1', sizeof in);
    memcpy(in + sizeof in - 4, ":80", 4);
    refuses(in, -EINVAL);
    return DONE();
}
