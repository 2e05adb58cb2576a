/* SPDX-License-Identifier: MIT */
/* The rules in words, and in the tests' library which one is broken. */
#include "device/rules.h"

static const struct { const char *name, *text; } rules[] = {
    [COIR_RULE_NONE] = { "NONE", "all rules hold" },
#define WORDS(name, text) [COIR_RULE_##name] = { #name, text },
    COIR_RULES(WORDS)
};

#ifdef COIR_BREAKABLE
enum coir_rule coir_rule_broken = COIR_RULE_NONE;
#endif

const char *coir_rule_name(enum coir_rule rule)
{
    return rule < COIR_RULE_COUNT ? rules[rule].name : "?";
}

const char *coir_rule_text(enum coir_rule rule)
{
    return rule < COIR_RULE_COUNT ? rules[rule].text : "?";
}
