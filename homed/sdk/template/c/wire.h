/* The wire: lines of JSON on a private copy of stdin and stdout.  docs/wire.md says what they mean.

   wire_open first of all.  Then wire_read as often as stdin is readable, until it says that homed has gone. */

#ifndef WIRE_H
#define WIRE_H

#define _GNU_SOURCE
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define WIRE_LINE (1 << 20) /* bytes of the longest line */

static int wire_in, wire_out;

/* Move stdin and stdout out of reach of whatever prints, and of every program started from here. */
static void wire_open(void) {
    wire_in = fcntl(0, F_DUPFD_CLOEXEC, 10);
    wire_out = fcntl(1, F_DUPFD_CLOEXEC, 10);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (wire_in < 0 || wire_out < 0 || null < 0 || dup2(null, 0) < 0 || dup2(2, 1) < 0)
        exit(70);
    close(null);
}

static void wire_write(const char *data, size_t len) {
    while (len) {
        ssize_t done = write(wire_out, data, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            exit(0); /* homed has gone */
        data += done;
        len -= (size_t)done;
    }
}

/* Send a message whose text is finished, and free it. */
static void wire_send(struct text *t) {
    text_add(t, "}\n", 2);
    wire_write(t->at, t->len);
    free(t->at);
    *t = (struct text){0};
}

/* Begin the answer to the request whose id stands in the line as `id`: add the result, then wire_send. */
static struct text wire_reply(const char *id) {
    struct text t = {0};
    text_add(&t, "{\"jsonrpc\":\"2.0\",\"id\":", 22);
    text_add(&t, id, strlen(id));
    text_add(&t, ",\"result\":", 10);
    return t;
}

/* Answer with an error; `code` is a word of docs/wire.md such as invalid, not_found, stopped. */
static void wire_error(const char *id, const char *code, const char *message) {
    struct text t = {0};
    text_add(&t, "{\"jsonrpc\":\"2.0\",\"id\":", 22);
    text_add(&t, id, strlen(id));
    text_format(&t, ",\"error\":{\"code\":%d,\"message\":", strcmp(code, "unknown_method") ? -32000 : -32601);
    text_string(&t, message, strlen(message));
    text_format(&t, ",\"data\":{\"code\":\"%s\"}}", code);
    wire_send(&t);
}

/* Begin a call of the kernel: add the params, then wire_send.  The reply comes as a message with this id. */
static struct text wire_call(long id, const char *method) {
    struct text t = {0};
    text_format(&t, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"%s\",\"params\":", id, method);
    return t;
}

/* Read what has come and hand every whole line to `take`.  0 when homed has gone: leave then. */
static int wire_read(void (*take)(const struct json *message)) {
    static char buffer[WIRE_LINE];
    static size_t held;
    ssize_t got = read(wire_in, buffer + held, sizeof buffer - held);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return 1;
    if (got <= 0)
        return 0;
    held += (size_t)got;
    char *from = buffer, *end;
    while ((end = memchr(from, '\n', (size_t)(buffer + held - from)))) {
        struct json *message = json_parse(from, (size_t)(end - from));
        if (message)
            take(message);
        else
            fprintf(stderr, "a line that is no JSON\n");
        json_free(message);
        from = end + 1;
    }
    held -= (size_t)(from - buffer);
    memmove(buffer, from, held);
    return held < sizeof buffer; /* a longer line is none of homed's */
}

/* The id of a message as it stands in the line, to be freed. */
static char *wire_id(const struct json *message) {
    struct json *id = json_get(message, "id");
    if (!id)
        return strdup("null");
    return id->kind == JSON_STRING ? strndup(id->at - 1, id->len + 2) : strndup(id->at, id->len);
}

#endif
