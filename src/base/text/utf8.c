#include "base/text/utf8.h"

#include <stdbool.h>

size_t utf8_length(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    if (n == 0 || s[0] >= 0xF5 || (s[0] >= 0x80 && s[0] < 0xC2))
        return 0;
    size_t want = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    if (want > n)
        return 0;
    for (size_t i = 1; i < want; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    }
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool no_character = (s[0] == 0xED && s[1] >= 0xA0) || (s[0] == 0xF4 && s[1] >= 0x90);
    return overlong || no_character ? 0 : want;
}
