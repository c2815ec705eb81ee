/* A plugin in C: tools, cancellation, a stage handler, large values by the arena, events by the ring, fields by the
   segment.  One thread, one poll; no library but the C one. */

#include "wire.h"

#include "areas.h"

#include <poll.h>
#include <time.h>

#define WAITS 8   /* calls of c_wait at once; homed sends fewer */
#define SENDS 8   /* results that wait for a place in the arena */
#define INLINE_MOST (48 << 10)

static struct area arena, segment;
static struct ring ring;
static char last_type[32], data_dir[512];
static long next_id = 1, subscribing;
static int leaving;

static struct wait {
    char *id;
    double until;
} waits[WAITS];

static struct send {
    char *id, *data;
    size_t len;
    const char *key, *as, *rest; /* rest: what the result holds besides */
    long asked;
} sends[SENDS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void reply_empty(const char *id) {
    struct text t = wire_reply(id);
    text_add(&t, "{}", 2);
    wire_send(&t);
}

/* A tool's short result. */
static void reply_text(const char *id, const char *data, size_t len, int is_error) {
    struct text t = wire_reply(id);
    text_add(&t, "{\"content\":", 11);
    text_string(&t, data, len);
    text_format(&t, ",\"is_error\":%s}", is_error ? "true" : "false");
    wire_send(&t);
}

/* A result of which one value may be large: `data`, which this takes, is a text, or JSON if `as` says so. */
static void reply_large(const char *id, const char *key, const char *as, const char *rest, struct text *data) {
    if (data->len <= INLINE_MOST || !arena.size) {
        struct text t = wire_reply(id);
        text_format(&t, "{%s\"%s\":", rest, key);
        if (!strcmp(as, "text"))
            text_string(&t, data->at, data->len);
        else
            text_add(&t, data->at, data->len);
        text_add(&t, "}", 1);
        wire_send(&t);
        free(data->at);
        return;
    }
    for (int n = 0; n < SENDS; n++) {
        struct send *s = &sends[n];
        if (s->id)
            continue;
        *s = (struct send){strdup(id), data->at, data->len, key, as, rest, next_id++};
        struct text t = wire_call(s->asked, "core.arena_alloc");
        text_format(&t, "{\"len\":%zu}", s->len);
        wire_send(&t);
        return;
    }
    free(data->at);
    wire_error(id, "unavailable", "too many large results wait");
}

/* homed has given a place in the arena, or has not. */
static void placed(struct send *s, const struct json *message) {
    double off = json_double(json_get(json_get(message, "result"), "off"), -1);
    if (off < 0 || off + (double)s->len > (double)arena.size) {
        wire_error(s->id, "unavailable", "there is no place in the arena");
    } else {
        memcpy(arena.at + (size_t)off, s->data, s->len);
        struct text t = wire_reply(s->id);
        text_format(&t, "{%s\"$arena\":{\"%s\":{\"off\":%.0f,\"len\":%zu,\"as\":\"%s\"}}}", s->rest, s->key, off, s->len, s->as);
        wire_send(&t);
    }
    free(s->id);
    free(s->data);
    *s = (struct send){0};
}

/* Tools */

static void tool_count(const char *id, const struct json *args) {
    struct text text = {0};
    char line[96];
    json_text(json_get(args, "text"), &text);
    int len = snprintf(line, sizeof line, "%zu bytes, crc %08x", text.len, ring_crc((unsigned char *)text.at, text.len, 0));
    reply_text(id, line, (size_t)len, 0);
    free(text.at);
}

static void tool_repeat(const char *id, const struct json *args) {
    struct text text = {0}, all = {0};
    double times = json_double(json_get(args, "times"), 1);
    json_text(json_get(args, "text"), &text);
    if (times < 0 || times * (double)text.len > 32e6) {
        reply_text(id, "that is too much", 16, 1);
    } else {
        text_add(&all, "", 0);
        for (long n = 0; n < (long)times; n++)
            text_add(&all, text.at, text.len);
        reply_large(id, "content", "text", "\"is_error\":false,", &all);
    }
    free(text.at);
}

static void tool_wait(const char *id, const struct json *args) {
    for (int n = 0; n < WAITS; n++) {
        if (waits[n].id)
            continue;
        waits[n] = (struct wait){strdup(id), now() + json_double(json_get(args, "seconds"), 1)};
        return;
    }
    wire_error(id, "unavailable", "too many calls wait");
}

static void tool_heard(const char *id, const struct json *args) {
    (void)args;
    struct text t = wire_reply(id);
    text_format(&t, "{\"content\":{\"by\":\"%s\",\"heard\":%llu,\"lost\":%llu,\"last\":", ring.area.size ? "ring" : "nothing",
                (unsigned long long)ring.heard, (unsigned long long)ring.lost);
    text_string(&t, last_type, strlen(last_type));
    text_add(&t, "},\"is_error\":false}", 19);
    wire_send(&t);
}

static const struct tool {
    const char *name, *needs;
    void (*run)(const char *id, const struct json *args);
} tools[] = {
    {"c_count", "text", tool_count},
    {"c_repeat", "text", tool_repeat},
    {"c_wait", "seconds", tool_wait},
    {"c_heard", NULL, tool_heard},
};
#define TOOLS (sizeof tools / sizeof *tools)

static void invoke_tool(const char *id, const struct json *params) {
    const struct json *tool = json_get(params, "tool"), *args = json_get(params, "args");
    const struct json *lent = json_get(json_get(params, "$arena"), "args");
    struct json *parsed = NULL;
    char *copy = NULL;
    size_t len;
    if (lent && arena.size && (copy = arena_copy(&arena, lent, &len)))
        args = parsed = json_parse(copy, len);
    size_t n = 0;
    while (n < TOOLS && !json_is(tool, tools[n].name))
        n++;
    if (n == TOOLS)
        wire_error(id, "not_found", "there is no such tool");
    else if (tools[n].needs && !json_get(args, tools[n].needs))
        reply_text(id, "an argument is missing", 22, 1);
    else
        tools[n].run(id, args);
    json_free(parsed);
    free(copy);
}

/* The stage on_input: a message that begins with "/shout " is shouted. */

static void invoke_stage(const char *id, const struct json *params) {
    const struct json *fields = json_get(params, "fields"), *lent = json_get(json_get(params, "$arena"), "fields");
    struct text message = {0}, changes = {0};
    struct json *parsed = NULL;
    char *copy = NULL;
    size_t len = 0;
    if (lent && arena.size && (copy = arena_copy(&arena, lent, &len)))
        fields = parsed = json_parse(copy, len);
    if (fields) {
        json_text(json_get(fields, "raw_message"), &message);
    } else if (segment.size) {
        char *field = segment_field(&segment, (uint64_t)json_double(json_get(params, "seq"), 0), "raw_message", &len);
        if (field)
            text_add(&message, field, len);
        free(field);
    }
    text_add(&changes, "{", 1);
    if (message.len > 7 && !memcmp(message.at, "/shout ", 7)) {
        for (size_t n = 7; n < message.len; n++)
            if (message.at[n] >= 'a' && message.at[n] <= 'z')
                message.at[n] -= 'a' - 'A';
        text_add(&changes, "\"raw_message\":", 14);
        text_string(&changes, message.at + 7, message.len - 7);
    }
    text_add(&changes, "}", 1);
    reply_large(id, "changes", "json", "", &changes);
    free(message.at);
    json_free(parsed);
    free(copy);
}

/* Events */

static void hear(uint32_t type, const char *payload, size_t len) {
    struct json *event = json_parse(payload, len);
    snprintf(last_type, sizeof last_type, "%u%s", type, json_get(event, "thread") ? "" : " without a thread");
    json_free(event);
}

static void subscribe(void) {
    subscribing = next_id++;
    struct text t = wire_call(subscribing, "events.subscribe");
    text_add(&t, "{\"via\":\"ring\"}", 14);
    wire_send(&t);
}

static void subscribed(const struct json *message) {
    const struct json *result = json_get(message, "result");
    double cursor = json_double(json_get(result, "cursor"), -1), mask = json_double(json_get(result, "mask"), 0);
    if (cursor < 0) {
        fprintf(stderr, "no events come by a ring\n");
        ring.area.size = 0;
        return;
    }
    ring.seq = (uint64_t)cursor;
    ring.mask = (uint32_t)mask;
    ring_read(&ring, hear);
}

/* Requests, replies, cancellations */

static void cancel(const struct json *message) {
    char *id = wire_id(json_get(message, "params"));
    for (int n = 0; n < WAITS; n++)
        if (waits[n].id && !strcmp(waits[n].id, id)) {
            wire_error(id, "stopped", "c_wait was stopped");
            free(waits[n].id);
            waits[n].id = NULL;
        }
    free(id);
}

static void handshake(const char *id) {
    struct text t = wire_reply(id);
    text_format(&t, "{\"protocol\":1,\"sdk\":\"c/0.1\",\"pid\":%d,\"areas\":[", (int)getpid());
    text_format(&t, "%s%s%s]}", arena.size ? "\"arena\"" : "", arena.size && segment.size ? "," : "",
                segment.size ? "\"segment\"" : "");
    wire_send(&t);
}

static void init(const char *id, const struct json *params) {
    struct text folder = {0}, t = wire_reply(id);
    json_text(json_get(params, "data_dir"), &folder);
    snprintf(data_dir, sizeof data_dir, "%s", folder.at);
    free(folder.at);
    static const char names[] = "{\"tools\":[\"c_count\",\"c_repeat\",\"c_wait\",\"c_heard\"],";
    static const char rest[] = "\"stages\":[{\"stage\":\"on_input\"}],\"outputs\":[],\"inputs\":[]}";
    text_add(&t, names, sizeof names - 1);
    text_add(&t, rest, sizeof rest - 1);
    wire_send(&t);
}

static void replied(const struct json *message) {
    long id = (long)json_double(json_get(message, "id"), 0);
    if (id == subscribing)
        subscribed(message);
    for (int n = 0; n < SENDS; n++)
        if (sends[n].id && sends[n].asked == id)
            placed(&sends[n], message);
}

static void stop(const char *id) {
    for (int n = 0; n < WAITS; n++)
        if (waits[n].id)
            wire_error(waits[n].id, "stopped", "the plugin is stopping");
    reply_empty(id);
    leaving = 1;
}

static void take(const struct json *message) {
    const struct json *method = json_get(message, "method"), *params = json_get(message, "params");
    if (!method) {
        replied(message);
        return;
    }
    if (!json_get(message, "id")) {
        if (json_is(method, "$/cancel"))
            cancel(message);
        return;
    }
    char *id = wire_id(message);
    if (json_is(method, "handshake"))
        handshake(id);
    else if (json_is(method, "plugin.init"))
        init(id, params);
    else if (json_is(method, "plugin.start")) {
        if (ring.area.size)
            subscribe();
        reply_empty(id);
    } else if (json_is(method, "plugin.stop"))
        stop(id);
    else if (json_is(method, "plugin.ping"))
        reply_empty(id);
    else if (json_is(method, "tool.invoke"))
        invoke_tool(id, params);
    else if (json_is(method, "stage.invoke"))
        invoke_stage(id, params);
    else
        wire_error(id, "unknown_method", "there is no such method");
    free(id);
}

/* Answer the waits that are over; milliseconds until the next, -1 for none. */
static int due(void) {
    double soonest = -1, at = now();
    for (int n = 0; n < WAITS; n++) {
        if (!waits[n].id)
            continue;
        double left = waits[n].until - at;
        if (left <= 0) {
            reply_text(waits[n].id, "waited", 6, 0);
            free(waits[n].id);
            waits[n].id = NULL;
        } else if (soonest < 0 || left < soonest) {
            soonest = left;
        }
    }
    return soonest < 0 ? -1 : (int)(soonest * 1000) + 1;
}

int main(void) {
    wire_open();
    arena = area_map("HOMED_FD_ARENA", "HOMEDARN", PROT_READ | PROT_WRITE);
    segment = area_map("HOMED_FD_SEGMENT", "HOMEDSEG", PROT_READ);
    ring.area = area_map("HOMED_FD_NOTICES", "HOMEDRNG", PROT_READ);
    ring.wake = area_fd("HOMED_FD_NOTICES_WAKE");
    struct pollfd watched[2] = {{.fd = wire_in, .events = POLLIN}, {.fd = ring.wake, .events = POLLIN}};
    while (!leaving) {
        watched[1].fd = ring.mask ? ring.wake : -1;
        if (poll(watched, 2, due()) < 0 && errno != EINTR)
            return 70;
        if (watched[1].revents)
            ring_read(&ring, hear);
        if (watched[0].revents && !wire_read(take))
            return 0; /* homed has gone */
    }
    return 0;
}
