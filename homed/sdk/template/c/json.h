/* A small JSON reader and a growing text buffer: all that a plugin in C needs to speak the wire.

   json_parse reads a text into a tree that points into it; nothing is copied until json_text is asked for a string.
   It refuses what is no JSON, and what is nested over JSON_DEPTH deep. */

#ifndef JSON_H
#define JSON_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

#define JSON_DEPTH 64

struct json {
    enum json_kind kind;
    const char *at;     /* where it stands in the text; a string without its quotes */
    size_t len;         /* bytes there */
    struct json *key;   /* of a member of an object */
    struct json *first; /* of an array or object */
    struct json *next;  /* beside it */
};

/* Text that grows.  Memory that runs out ends the program: homed starts it again. */

struct text {
    char *at;
    size_t len, room;
};

static void text_add(struct text *t, const char *data, size_t len) {
    if (t->len + len + 1 > t->room) {
        t->room = (t->len + len + 1) * 2;
        t->at = realloc(t->at, t->room);
        if (!t->at)
            abort();
    }
    memcpy(t->at + t->len, data, len);
    t->len += len;
    t->at[t->len] = 0;
}

static void text_format(struct text *t, const char *format, ...) {
    char piece[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof piece)
        abort();
    text_add(t, piece, (size_t)len);
}

/* A string as JSON writes it, quotes included. */
static void text_string(struct text *t, const char *data, size_t len) {
    text_add(t, "\"", 1);
    for (size_t i = 0, from = 0; i <= len; i++) {
        unsigned char c = i < len ? (unsigned char)data[i] : 0;
        if (i < len && c >= 0x20 && c != '"' && c != '\\')
            continue;
        text_add(t, data + from, i - from);
        from = i + 1;
        if (i < len)
            text_format(t, c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c);
    }
    text_add(t, "\"", 1);
}

/* Reading */

struct json_reader {
    const char *at, *end;
};

static void json_free(struct json *j) {
    while (j) {
        struct json *next = j->next;
        json_free(j->key);
        json_free(j->first);
        free(j);
        j = next;
    }
}

static void json_space(struct json_reader *r) {
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

static int json_word(struct json_reader *r, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len))
        return 0;
    r->at += len;
    return 1;
}

static int json_hex(const char *at) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static int json_string(struct json_reader *r, struct json *j) {
    j->kind = JSON_STRING;
    j->at = ++r->at;
    for (; r->at < r->end && *r->at != '"'; r->at++) {
        if ((unsigned char)*r->at < 0x20)
            return 0;
        if (*r->at != '\\')
            continue;
        if (++r->at == r->end || !*r->at || !strchr("\"\\/bfnrtu", *r->at))
            return 0;
        if (*r->at == 'u') {
            if (r->end - r->at < 5 || json_hex(r->at + 1) < 0)
                return 0;
            r->at += 4;
        }
    }
    if (r->at == r->end)
        return 0;
    j->len = (size_t)(r->at++ - j->at);
    return 1;
}

static struct json *json_value(struct json_reader *r, int depth);

static int json_parts(struct json_reader *r, struct json *j, int depth) {
    char close = *r->at == '{' ? '}' : ']';
    struct json **last = &j->first;
    j->kind = close == '}' ? JSON_OBJECT : JSON_ARRAY;
    r->at++;
    json_space(r);
    if (r->at < r->end && *r->at == close)
        return r->at++, 1;
    while (depth < JSON_DEPTH) {
        struct json *key = NULL;
        json_space(r);
        if (close == '}') {
            if (r->at == r->end || *r->at != '"' || !(key = json_value(r, depth + 1)))
                return 0;
            json_space(r);
            if (!json_word(r, ":"))
                return json_free(key), 0;
        }
        if (!(*last = json_value(r, depth + 1)))
            return json_free(key), 0;
        (*last)->key = key;
        last = &(*last)->next;
        json_space(r);
        if (r->at < r->end && *r->at == close)
            return r->at++, 1;
        if (!json_word(r, ","))
            return 0;
    }
    return 0;
}

static int json_number(struct json_reader *r, struct json *j) {
    j->kind = JSON_NUMBER;
    while (r->at < r->end && *r->at && strchr("+-.eE0123456789", *r->at))
        r->at++;
    char copy[64], *end;
    size_t len = (size_t)(r->at - j->at);
    if (!len || len >= sizeof copy)
        return 0;
    memcpy(copy, j->at, len);
    copy[len] = 0;
    strtod(copy, &end);
    return !*end;
}

static struct json *json_value(struct json_reader *r, int depth) {
    struct json *j = calloc(1, sizeof *j);
    int good = 0;
    if (!j)
        abort();
    json_space(r);
    j->at = r->at;
    if (r->at < r->end) {
        switch (*r->at) {
        case '{':
        case '[':
            good = json_parts(r, j, depth);
            break;
        case '"':
            good = json_string(r, j);
            break;
        case 'n':
            good = json_word(r, "null");
            break;
        case 't':
            j->kind = JSON_TRUE;
            good = json_word(r, "true");
            break;
        case 'f':
            j->kind = JSON_FALSE;
            good = json_word(r, "false");
            break;
        default:
            good = json_number(r, j);
        }
    }
    if (!good)
        return json_free(j), NULL;
    if (j->kind != JSON_STRING)
        j->len = (size_t)(r->at - j->at);
    return j;
}

/* The tree of a text, to be freed with json_free; NULL if it is no JSON. */
static struct json *json_parse(const char *data, size_t len) {
    struct json_reader r = {data, data + len};
    struct json *j = json_value(&r, 0);
    json_space(&r);
    if (j && r.at != r.end)
        return json_free(j), NULL;
    return j;
}

/* The member of an object; NULL if there is none, or it is no object. */
static struct json *json_get(const struct json *j, const char *key) {
    struct json *part = j && j->kind == JSON_OBJECT ? j->first : NULL;
    for (; part; part = part->next)
        if (part->key->len == strlen(key) && !memcmp(part->key->at, key, part->key->len))
            return part;
    return NULL;
}

/* Whether it is the string `word`, which needs no escapes. */
static int json_is(const struct json *j, const char *word) {
    return j && j->kind == JSON_STRING && j->len == strlen(word) && !memcmp(j->at, word, j->len);
}

/* The number, or `otherwise`. */
static double json_double(const struct json *j, double otherwise) {
    char copy[64];
    if (!j || j->kind != JSON_NUMBER || j->len >= sizeof copy)
        return otherwise;
    memcpy(copy, j->at, j->len);
    copy[j->len] = 0;
    return strtod(copy, NULL);
}

static void json_utf8(struct text *t, unsigned code) {
    char out[4];
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(len == 1 ? code : lead[len] | code);
    text_add(t, out, len);
}

/* Add a string with its escapes undone; anything else adds nothing. */
static void json_text(const struct json *j, struct text *t) {
    text_add(t, "", 0);
    if (!j || j->kind != JSON_STRING)
        return;
    for (const char *at = j->at, *end = j->at + j->len; at < end; at++) {
        if (*at != '\\') {
            text_add(t, at, 1);
            continue;
        }
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
        const char *known = strchr(from, *++at);
        if (*at != 'u') {
            text_add(t, known ? to + (known - from) : at, 1);
            continue;
        }
        unsigned code = (unsigned)json_hex(at + 1);
        at += 4;
        if (code >= 0xD800 && code < 0xDC00 && end - at > 6 && at[1] == '\\' && at[2] == 'u') {
            unsigned low = (unsigned)json_hex(at + 3);
            if (low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                at += 6;
            }
        }
        json_utf8(t, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    }
}

#endif
