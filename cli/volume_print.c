/* SPDX-License-Identifier: MIT */
/*
 * Answers of a store for a person: a row for each volume, a few lines for a store. With --json they are printed as
 * they come, all but the last, whose status is the command's.
 */
#include <json-c/json.h>
#include <string.h>

#include "cli/verb.h"
#include "cli/volume.h"

static const char *text(struct json_object *o, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(o, key, &value) ? json_object_get_string(value) : "";
}

static uint64_t number(struct json_object *o, const char *key)
{
    struct json_object *value;

    return json_object_object_get_ex(o, key, &value) ? json_object_get_uint64(value) : 0;
}

/* "1.5G": at least two digits, rounded to the nearest. */
static const char *bytes(uint64_t n, char to[16])
{
    static const char units[] = "\0KMGTPE";
    double value = (double)n;
    int unit = 0;

    while (value >= 1024 && units[unit + 1])
        value /= 1024, unit++;
    if (unit == 0)
        snprintf(to, 16, "%llu", (unsigned long long)n);
    else
        snprintf(to, 16, value < 10 && value != (double)(int)value ? "%.1f%c" : "%.0f%c", value, units[unit]);
    return to;
}

static void print_volume(struct volume_printer *p, struct json_object *o)
{
    char size[16], mapped[16], block[16];

    if (p->rows++ == 0)
        cli_print("%-24s %8s %8s %6s\n", "NAME", "SIZE", "USED", "BLOCK");
    cli_print("%-24s %8s %8s %6s\n", text(o, "volume"), bytes(number(o, "size"), size),
              bytes(number(o, "mapped"), mapped), bytes(number(o, "block"), block));
}

static void print_store(struct json_object *o, bool all)
{
    char a[16], b[16], c[16];

    cli_print("store %s, %llu file%s%s\n", text(o, "store"), (unsigned long long)number(o, "files"),
              number(o, "files") == 1 ? "" : "s", strcmp(text(o, "read_only"), "true") ? "" : ", read-only");
    if (*text(o, "why"))
        cli_print("  since: %s\n", text(o, "why"));
    cli_print("  %s: %s in use, %s free\n", bytes(number(o, "size"), a), bytes(number(o, "live"), b),
              bytes(number(o, "free"), c));
    cli_print("  journal: %s of %s in use\n", bytes(number(o, "journal_used"), a), bytes(number(o, "journal"), b));
    cli_print("  generation %llu, epoch %llu, record %llu, durable up to %llu\n",
              (unsigned long long)number(o, "generation"), (unsigned long long)number(o, "epoch"),
              (unsigned long long)number(o, "lsn"), (unsigned long long)number(o, "durable"));
    if (!all)
        return;
    cli_print("  since it was opened: %llu records in %llu groups, %llu flushes, %s written to the journal, "
              "%llu waits for room\n", (unsigned long long)number(o, "records"),
              (unsigned long long)number(o, "groups"), (unsigned long long)number(o, "flushes"),
              bytes(number(o, "written"), a), (unsigned long long)number(o, "waits"));
    cli_print("  %llu checkpoints; committing took %.3f s of its shard\n", (unsigned long long)number(o, "checkpoints"),
              (double)number(o, "busy") / 1e9);
    cli_print("  index: %llu nodes in memory, %llu of them dirty; %llu read, %llu found in memory\n",
              (unsigned long long)number(o, "nodes"), (unsigned long long)number(o, "dirty"),
              (unsigned long long)number(o, "node_reads"), (unsigned long long)number(o, "node_hits"));
}

void volume_print(struct volume_printer *p, const char *line)
{
    struct json_object *o = json_tokener_parse(line), *value;

    if (!o)
        return;
    if (json_object_object_get_ex(o, "status", &value)) {
        p->status = json_object_get_int(value);
        snprintf(p->error, sizeof p->error, "%s", text(o, "error"));
    } else if (p->arguments->json) {
        cli_print("%s\n", line);
    } else if (json_object_object_get_ex(o, "damage", &value)) {
        cli_print("%s\n", text(o, "damage"));
    } else if (json_object_object_get_ex(o, "checked", &value)) {
        cli_print("%llu nodes checked, %llu things wrong\n", (unsigned long long)number(o, "checked"),
                  (unsigned long long)number(o, "damaged"));
    } else if (json_object_object_get_ex(o, "scrubbed", &value)) {
        cli_print("%s compared, %llu volume blocks damaged\n", bytes(number(o, "scrubbed"), (char[16]){ 0 }),
                  (unsigned long long)number(o, "damaged"));
    } else if (json_object_object_get_ex(o, "volume", &value)) {
        print_volume(p, o);
    } else if (json_object_object_get_ex(o, "store", &value)) {
        print_store(o, !strcmp(p->arguments->verb, "stats"));
    }
    json_object_put(o);
}
