/* The memory that homed shares with a plugin, read from the byte layouts in docs/wire.md alone. */

#ifndef AREAS_H
#define AREAS_H

#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct area {
    unsigned char *at;
    size_t size;
};

static uint32_t u32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* A whole aligned number that another process may be writing, on a little-endian machine. */
static uint64_t u64(const unsigned char *at) {
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* The descriptor that the environment names; close-on-exec, and no child hears of it.  -1 if there is none. */
static int area_fd(const char *name) {
    const char *number = getenv(name);
    if (!number || !*number)
        return -1;
    int fd = atoi(number);
    unsetenv(name);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

/* Map an area and look at its header; its size is 0 if it was not given or is another one. */
static struct area area_map(const char *name, const char *magic, int prot) {
    struct area none = {0}, a;
    struct stat s;
    int fd = area_fd(name);
    if (fd < 0 || fstat(fd, &s) || s.st_size < 64)
        return none;
    a.size = (size_t)s.st_size;
    a.at = mmap(NULL, a.size, prot, MAP_SHARED, fd, 0);
    close(fd);
    if (a.at == MAP_FAILED)
        return none;
    if (memcmp(a.at, magic, 8) || u32(a.at + 8) != 1 || u64(a.at + 16) != a.size) {
        munmap(a.at, a.size);
        return none;
    }
    return a;
}

/* The arena */

/* A copy of a block that a frame names ({off, len, as}), to be freed; NULL if it lies outside. */
static char *arena_copy(const struct area *arena, const struct json *ref, size_t *len) {
    double off = json_double(json_get(ref, "off"), -1), length = json_double(json_get(ref, "len"), -1);
    if (off < 0 || length < 0 || off + length > (double)arena->size)
        return NULL;
    char *copy = malloc((size_t)length + 1);
    if (!copy)
        abort();
    memcpy(copy, arena->at + (size_t)off, (size_t)length);
    copy[(size_t)length] = 0;
    *len = (size_t)length;
    return copy;
}

/* The stage segment */

/* A copy of one field of the context `seq`, to be freed; NULL when it was never set or the stage is over. */
static char *segment_field(const struct area *segment, uint64_t seq, const char *name, size_t *len) {
    uint32_t slots = u32(segment->at + 24), slot_bytes = u32(segment->at + 28);
    uint64_t first = u64(segment->at + 32);
    if (!seq || !slots || slot_bytes != 32 || first + (uint64_t)slots * slot_bytes > segment->size)
        return NULL;
    const unsigned char *slot = segment->at + first + (seq % slots) * slot_bytes;
    if (u64(slot) != seq)
        return NULL;
    uint64_t off = u64(slot + 8), length = u64(slot + 16);
    if (off > segment->size || length > segment->size - off || length < 8)
        return NULL;
    unsigned char *context = malloc(length);
    if (!context)
        abort();
    memcpy(context, segment->at + off, length);
    char *found = NULL;
    uint32_t count = u64(slot) == seq ? u32(context) : 0; /* taken away meanwhile: the copy is worth nothing */
    for (uint32_t n = 0; n < count && !found && 8 + 48 * (uint64_t)(n + 1) <= length; n++) {
        const unsigned char *entry = context + 8 + 48 * n;
        uint64_t at = u32(entry + 32) | (uint64_t)u32(entry + 36) << 32;
        uint64_t size = u32(entry + 40) | (uint64_t)u32(entry + 44) << 32;
        if (strncmp((const char *)entry, name, 24) || at > length || size > length - at)
            continue;
        found = malloc(size + 1);
        if (!found)
            abort();
        memcpy(found, context + at, size);
        found[size] = 0;
        *len = size;
    }
    free(context);
    return found;
}

/* The event ring */

struct ring {
    struct area area;
    int wake;                  /* readable when there is news */
    uint64_t seq, heard, lost; /* the number of the last event read or lost; how many of either */
    uint32_t mask;
};

static uint32_t ring_crc(const unsigned char *data, size_t len, uint32_t begin) {
    uint32_t crc = ~begin;
    while (len--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static void ring_miss(struct ring *r, uint64_t count) {
    r->seq += count;
    r->lost += count;
}

/* Read all that is there; `hear` gets the type's number and a copy of the payload, one JSON object. */
static void ring_read(struct ring *r, void (*hear)(uint32_t type, const char *payload, size_t len)) {
    const unsigned char *at = r->area.at;
    uint64_t payloads = u64(at + 32), room = u64(at + 40);
    char news[4096]; /* an eventfd, or a pipe */
    if (read(r->wake, news, sizeof news) < 0 && errno != EAGAIN)
        return;
    int looks = 8;
    while (r->seq + 1 <= u64(at + 64)) {
        uint64_t seq = r->seq + 1, tail = u64(at + 72);
        if (seq < tail) {
            ring_miss(r, tail - seq);
            continue;
        }
        const unsigned char *slot = at + 128 + 32 * (seq % u32(at + 24));
        uint64_t before = u64(slot);
        uint32_t type = u32(slot + 8), off = u32(slot + 12), len = u32(slot + 16), check = u32(slot + 20);
        int wanted = type < 32 && r->mask >> type & 1, inside = (uint64_t)off + len <= room;
        char *copy = wanted && inside ? malloc((size_t)len + 1) : NULL;
        if (copy)
            memcpy(copy, at + payloads + off, len), copy[len] = 0;
        int passed = u64(at + 72) > seq; /* overwritten under our eyes */
        int whole = before == seq && u64(slot) == seq && inside;
        if (whole && wanted)
            whole = copy && ring_crc((unsigned char *)copy, len, (uint32_t)seq) == check;
        if (!passed && !whole && --looks == 0)
            ring_miss(r, 1), looks = 8;
        else if (!passed && whole && wanted && !len)
            ring_miss(r, 1); /* announced without payload */
        else if (!passed && whole) {
            r->seq = seq;
            if (wanted)
                r->heard++, hear(type, copy, len);
        }
        free(copy);
    }
}

#endif
