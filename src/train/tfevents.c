/* Event files for TensorBoard: see tfevents.h. */
#include "train/tfevents.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct iso_tfevents {
    FILE *f;
    char *path;
};

/* Field numbers of Event, of its Summary and Summary.Value, of its SessionLog; protobuf's wire
 * types. */
enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3, SUMMARY = 5, SESSION = 7 };
enum { VALUE = 1, TAG = 1, SIMPLE = 2 };
enum { STATUS = 1, STATUS_START = 1 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

uint32_t iso_crc32c(const void *bytes, size_t len)
{
    const unsigned char *b = bytes;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < len; i++) {
        crc ^= b[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82F63B78u & (0u - (crc & 1)));
    }
    return ~crc;
}

static uint32_t masked_crc(const void *bytes, size_t len)
{
    uint32_t crc = iso_crc32c(bytes, len);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* --- protocol-buffer encoding --- */

static void put_little(struct iso_str *s, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        iso_str_putc(s, (char)(x >> 8 * i & 255));
}

static void put_varint(struct iso_str *s, uint64_t x)
{
    for (; x >= 128; x >>= 7)
        iso_str_putc(s, (char)((x & 127) | 128));
    iso_str_putc(s, (char)x);
}

static void put_key(struct iso_str *s, int field, int type)
{
    put_varint(s, (uint64_t)(field << 3 | type));
}

static void put_bytes(struct iso_str *s, int field, const char *bytes, size_t len)
{
    put_key(s, field, BYTES);
    put_varint(s, len);
    iso_str_append(s, bytes, len);
}

static void put_time(struct iso_str *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    put_key(s, WALL_TIME, FIXED64);
    put_little(s, bits, 8);
}

static void write_record(struct iso_tfevents *e, const struct iso_str *event)
{
    struct iso_str record = {0};
    put_little(&record, event->len, 8);
    put_little(&record, masked_crc(record.text, 8), 4);
    iso_str_append(&record, event->text, event->len);
    put_little(&record, masked_crc(event->text, event->len), 4);
    fwrite(record.text, 1, record.len, e->f); /* a failure shows in flush */
    iso_str_release(&record);
}

/* An event of `step` whose field of this number holds the message, which is released. */
static void write_step(struct iso_tfevents *e, int64_t step, int field, struct iso_str *message)
{
    struct iso_str event = {0};
    put_time(&event);
    put_key(&event, STEP, VARINT);
    put_varint(&event, (uint64_t)step);
    put_bytes(&event, field, message->text, message->len);
    write_record(e, &event);
    iso_str_release(&event);
    iso_str_release(message);
}

/* Makes TensorBoard forget what a start that was killed wrote of `step` and later ones. */
static void put_session_start(struct iso_tfevents *e, int64_t step)
{
    struct iso_str session = {0};
    put_key(&session, STATUS, VARINT);
    put_varint(&session, STATUS_START);
    write_step(e, step, SESSION, &session);
}

enum iso_status iso_tfevents_open(struct iso_tfevents **out, const char *dir, int64_t done,
                                  struct iso_err *err)
{
    struct iso_tfevents *e = ISO_NEW(struct iso_tfevents);
    struct iso_str path = {0}, event = {0};
    iso_str_printf(&path, "%s/events.out.tfevents.%010" PRId64 ".isodepth", dir,
                   (int64_t)time(NULL));
    e->path = path.text;
    e->f = fopen(e->path, "ab");
    *out = e;
    if (!e->f)
        return iso_file_fail(err, e->path, "write");
    put_time(&event);
    put_bytes(&event, FILE_VERSION, "brain.Event:2", strlen("brain.Event:2"));
    write_record(e, &event);
    iso_str_release(&event);
    put_session_start(e, done + 1);
    return iso_tfevents_flush(e, err);
}

void iso_tfevents_put(struct iso_tfevents *e, int64_t step, const char *tag, double value)
{
    struct iso_str summary = {0}, scalar = {0};
    float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_bytes(&scalar, TAG, tag, strlen(tag));
    put_key(&scalar, SIMPLE, FIXED32);
    put_little(&scalar, bits, 4);
    put_bytes(&summary, VALUE, scalar.text, scalar.len);
    write_step(e, step, SUMMARY, &summary);
    iso_str_release(&scalar);
}

enum iso_status iso_tfevents_flush(struct iso_tfevents *e, struct iso_err *err)
{
    if (fflush(e->f) == 0 && !ferror(e->f))
        return ISO_OK;
    return iso_file_fail(err, e->path, "write");
}

void iso_tfevents_close(struct iso_tfevents *e)
{
    if (!e)
        return;
    if (e->f)
        fclose(e->f);
    free(e->path);
    free(e);
}
