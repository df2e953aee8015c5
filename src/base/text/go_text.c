#include "base/text/go_text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void go_text_trim(const char **data, size_t *bytes)
{
    while (*bytes && isspace((unsigned char)**data)) {
        ++*data;
        --*bytes;
    }
    while (*bytes && isspace((unsigned char)(*data)[*bytes - 1]))
        --*bytes;
}

json_t *go_text_object(const char *data, size_t bytes)
{
    json_t *root = json_loadb(data, bytes, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return NULL;
    }
    return root;
}

json_t *go_text_member(json_t *object, const char *name)
{
    json_t *found = json_object_get(object, name);
    const char *key;
    json_t *value;
    if (!found) {
        json_object_foreach(object, key, value) {
            if (strcasecmp(key, name) == 0)
                found = value;
        }
    }
    return found;
}

bool go_text_integer(json_t *object, const char *name, int64_t *out)
{
    json_t *v = go_text_member(object, name);
    if (!v || json_is_null(v))
        return true;
    if (!json_is_integer(v))
        return false;
    *out = json_integer_value(v);
    return true;
}

/* The factor of a unit's name of n characters; 0: no unit. */
static double unit_ns(const char *name, size_t n)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"m", 60e9},        {"h", 3600e9}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == n && memcmp(units[i].name, name, n) == 0)
            return units[i].ns;
    }
    return 0;
}

bool go_text_duration(const char *s, size_t bytes, double *ns)
{
    char text[64];
    if (bytes == 0 || bytes >= sizeof(text))
        return false;
    memcpy(text, s, bytes);
    text[bytes] = '\0';
    const char *c = text;
    double sign = *c == '-' ? -1 : 1;
    c += *c == '-' || *c == '+';
    *ns = 0;
    if (strcmp(c, "0") == 0)
        return true;
    do {
        size_t digits = strspn(c, "0123456789.");
        size_t unit_chars = strcspn(c + digits, "0123456789.");
        bool is_number = digits > 0 && strspn(c, ".") < digits &&
                         memchr(c, '.', digits) == memrchr(c, '.', digits);
        double factor = unit_ns(c + digits, unit_chars);
        if (!is_number || factor == 0)
            return false;
        *ns += sign * strtod(c, NULL) * factor;
        c += digits + unit_chars;
    } while (*c != '\0');
    return fabs(*ns) < 9.2e18;
}
