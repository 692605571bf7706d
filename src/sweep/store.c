/* The store: see store.h.
 *
 * 1. PRAGMA user_version holds the schema's number; an unknown one is refused, not guessed at.
 * 2. The columns of table `run` are those of iso_columns[].  A store of an older version lacks the
 *    newer ones: a writer adds them, a reader does without.
 * 3. Each row has a checksum: SQLite has none, and a flipped bit would be another loss.  Rows of an
 *    older version, without one, count as they are.
 * 4. A row that is lost takes its checksum with it: the fact `rows` has one of the set of ids.  The
 *    fact `facts` has one of all others.  A store of an older version gets both from its first
 *    writer.
 * 5. The rollback journal is used, not the write-ahead log: the latter needs shared memory,
 *    which network file systems do not give.  A commit is on disk when it returns. */
#include "sweep/store.h"

#include "base/file.h"
#include "base/hash.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 2 };

struct iso_store {
    sqlite3 *db;
    char *path;
    bool busy; /* why the last call failed */
};

static const char *remedy(int code)
{
    if (code == SQLITE_READONLY_DBMOVED)
        return ": it was deleted or moved meanwhile; isodepth sweep --rebuild --out STUDY restores "
               "it";
    switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
        return "; free some space and start again, no finished run is lost";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return "; check the permissions of the study's folder";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "; rebuild it from the run folders: isodepth sweep --rebuild --out STUDY";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "; another program holds it, try again";
    default:
        return "";
    }
}

static enum iso_status fail(struct iso_store *s, struct iso_err *err)
{
    int code = sqlite3_extended_errcode(s->db);
    s->busy = (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
    return iso_fail(err, ISO_IO, "%s: %s%s", s->path, sqlite3_errmsg(s->db), remedy(code));
}

static enum iso_status execute(struct iso_store *s, const char *sql, struct iso_err *err)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ISO_OK : fail(s, err);
}

/* Behind the columns of a record. */
static const struct iso_column sum_column = {.name = "xxh64", .kind = ISO_COLUMN_TEXT};

/* The column behind c, NULL behind the last. */
static const struct iso_column *next_column(const struct iso_column *c)
{
    return c == &sum_column ? NULL : c[1].name ? c + 1 : &sum_column;
}

/* Of the cells that are known, so that it stays the same when a version adds columns. */
static void sum_of(char out[17], const struct iso_record *rec)
{
    struct iso_str cells = {0};
    char buf[32];
    for (const struct iso_column *c = iso_columns; c->name; c++) {
        const char *cell = iso_record_cell(buf, rec, c);
        bool zero = iso_record_number(rec, c) == 0; /* which SQLite keeps without its sign */
        if (*cell && !(zero && c->kind == ISO_COLUMN_FLAG))
            iso_str_printf(&cells, "%s %s\n", c->name, zero ? "0" : cell);
    }
    snprintf(out, 17, "%016" PRIx64, iso_xxh64(iso_str_text(&cells), cells.len, 0));
    iso_str_release(&cells);
}

/* Whether table `run` has the column. */
static bool has_column(const struct iso_store *s, const struct iso_column *c)
{
    return sqlite3_table_column_metadata(s->db, NULL, "run", c->name, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

static const char *sql_type(const struct iso_column *c)
{
    return c->kind == ISO_COLUMN_NUMBER ? "REAL" : c->kind == ISO_COLUMN_FLAG ? "INTEGER" : "TEXT";
}

/* What a list of all columns has for each of them. */
static void put_definition(struct iso_str *out, const struct iso_store *s,
                           const struct iso_column *c)
{
    (void)s;
    iso_str_printf(out, "\"%s\" %s%s", c->name, sql_type(c),
                   c == iso_columns ? " PRIMARY KEY" : "");
}

static void put_name(struct iso_str *out, const struct iso_store *s, const struct iso_column *c)
{
    (void)s;
    iso_str_printf(out, "\"%s\"", c->name);
}

static void put_mark(struct iso_str *out, const struct iso_store *s, const struct iso_column *c)
{
    (void)s, (void)c;
    iso_str_putc(out, '?');
}

static void put_name_or_null(struct iso_str *out, const struct iso_store *s,
                             const struct iso_column *c)
{
    if (has_column(s, c))
        put_name(out, s, c);
    else
        iso_str_puts(out, "NULL");
}

static void write_columns(struct iso_str *out, const struct iso_store *s,
                          void (*put)(struct iso_str *, const struct iso_store *,
                                      const struct iso_column *))
{
    for (const struct iso_column *c = iso_columns; c; c = next_column(c)) {
        iso_str_puts(out, c == iso_columns ? "" : ", ");
        put(out, s, c);
    }
}

static enum iso_status make_schema(struct iso_store *s, struct iso_err *err)
{
    struct iso_str sql = {0};
    iso_str_puts(&sql, "BEGIN IMMEDIATE; CREATE TABLE run(");
    write_columns(&sql, s, put_definition);
    iso_str_printf(&sql,
                   ") WITHOUT ROWID;"
                   "CREATE TABLE fact(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
                   "CREATE TABLE attempt(run TEXT, number INTEGER, launcher TEXT, host TEXT,"
                   " started REAL, seconds REAL, outcome TEXT, message TEXT);"
                   "PRAGMA user_version = %d; COMMIT",
                   SCHEMA);
    enum iso_status st = execute(s, sql.text, err);
    iso_str_release(&sql);
    return st;
}

/* Adds the columns that an older version did not have. */
static enum iso_status add_columns(struct iso_store *s, struct iso_err *err)
{
    enum iso_status st = ISO_OK;
    for (const struct iso_column *c = iso_columns; st == ISO_OK && c; c = next_column(c)) {
        struct iso_str sql = {0};
        if (has_column(s, c))
            continue;
        iso_str_puts(&sql, "ALTER TABLE run ADD COLUMN ");
        put_definition(&sql, s, c);
        st = execute(s, sql.text, err);
        iso_str_release(&sql);
    }
    return st;
}

static enum iso_status schema_version(struct iso_store *s, int *version, struct iso_err *err)
{
    sqlite3_stmt *q = NULL;
    enum iso_status st = ISO_OK;
    if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &q, NULL) != SQLITE_OK ||
        sqlite3_step(q) != SQLITE_ROW)
        st = fail(s, err);
    else
        *version = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    return st;
}

static enum iso_status keep_row_set(struct iso_store *s, struct iso_err *err);

static enum iso_status check_schema(struct iso_store *s, enum iso_store_mode mode,
                                    struct iso_err *err)
{
    int version = 0;
    enum iso_status st = schema_version(s, &version, err);
    if (st != ISO_OK)
        return st;
    if (mode == ISO_STORE_WRITE && (version == SCHEMA || version == 0)) {
        st = version ? add_columns(s, err) : make_schema(s, err);
        return st == ISO_OK ? keep_row_set(s, err) : st;
    }
    if (version == SCHEMA)
        return ISO_OK;
    if (version == 0)
        return iso_fail(err, ISO_BAD_INPUT,
                        "%s: empty; either isodepth sweep has not planned it yet, or its contents "
                        "are lost: isodepth sweep --rebuild --out STUDY restores them from the run "
                        "folders",
                        s->path);
    return iso_fail(err, ISO_BAD_INPUT,
                    "%s: schema %d, this program knows %d; rebuild it from the run folders: "
                    "isodepth sweep --rebuild --out STUDY",
                    s->path, version, SCHEMA);
}

static enum iso_status open_with(struct iso_store *s, int flags, enum iso_store_mode mode,
                                 struct iso_err *err)
{
    if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
        return fail(s, err);
    iso_store_patience(s, ISO_STORE_PATIENCE);
    enum iso_status st = ISO_OK;
    if (mode == ISO_STORE_WRITE)
        st = execute(s, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL", err);
    return st == ISO_OK ? check_schema(s, mode, err) : st;
}

enum iso_status iso_store_open(struct iso_store **out, const char *path, enum iso_store_mode mode,
                               struct iso_err *err)
{
    struct iso_store *s = ISO_NEW(struct iso_store);
    s->path = strdup(path);
    *out = NULL;
    enum iso_status st;
    if (mode == ISO_STORE_READ && !iso_file_exists(path)) {
        st = iso_fail(err, ISO_IO, "%s: no such file; is this a study of isodepth sweep?", path);
    } else if (mode == ISO_STORE_WRITE) {
        st = open_with(s, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, mode, err);
    } else {
        st = open_with(s, SQLITE_OPEN_READONLY, mode, err);
        /* A killed writer left half a transaction: rolling it back needs a writer's rights. */
        if (st != ISO_OK && sqlite3_extended_errcode(s->db) == SQLITE_READONLY_ROLLBACK) {
            sqlite3_close(s->db);
            st = open_with(s, SQLITE_OPEN_READWRITE, mode, err);
        }
    }
    if (st == ISO_OK)
        *out = s;
    else
        iso_store_close(s);
    return st;
}

void iso_store_close(struct iso_store *store)
{
    if (!store)
        return;
    sqlite3_close(store->db);
    free(store->path);
    free(store);
}

void iso_store_patience(struct iso_store *store, int milliseconds)
{
    sqlite3_busy_timeout(store->db, milliseconds);
}

bool iso_store_busy(const struct iso_store *store)
{
    return store->busy;
}

enum iso_status iso_store_begin(struct iso_store *store, struct iso_err *err)
{
    store->busy = false;
    return execute(store, "BEGIN IMMEDIATE", err);
}

enum iso_status iso_store_end(struct iso_store *store, enum iso_status so_far, struct iso_err *err)
{
    if (so_far == ISO_OK)
        so_far = execute(store, "COMMIT", err);
    if (so_far != ISO_OK)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return so_far;
}

/* Runs a statement that gives no rows and forgets it. */
static enum iso_status finish(struct iso_store *s, sqlite3_stmt *q, struct iso_err *err)
{
    enum iso_status st = sqlite3_step(q) == SQLITE_DONE ? ISO_OK : fail(s, err);
    sqlite3_finalize(q);
    return st;
}

static void bind_number(sqlite3_stmt *q, int i, double x)
{
    if (isnan(x))
        sqlite3_bind_null(q, i);
    else
        sqlite3_bind_double(q, i, x);
}

static void bind_text(sqlite3_stmt *q, int i, const char *text)
{
    sqlite3_bind_text(q, i, text, -1, SQLITE_TRANSIENT);
}

/* Of a row: a flipped bit of its header can make NULL of a text. */
static const char *text_of(sqlite3_stmt *q, int column)
{
    const char *text = (const char *)sqlite3_column_text(q, column);
    return text ? text : "";
}

/* --- the set of runs --- */

/* The ids of table `run`.  A sum of hashes, which can follow one run that comes or goes: were it
 * computed again from the rows at every change, a row that is lost meanwhile would go unnoticed. */
struct row_set {
    uint64_t n, sum;
};

static const char row_set_key[] = "rows";
enum { ROW_SET_TEXT = 40 };

static void change_set(struct row_set *rows, const char *id, bool added)
{
    const uint64_t hash = iso_xxh64(id, strlen(id), 0);
    rows->n = added ? rows->n + 1 : rows->n - 1;
    rows->sum = added ? rows->sum + hash : rows->sum - hash;
}

static void set_text(char out[ROW_SET_TEXT], const struct row_set *rows)
{
    snprintf(out, ROW_SET_TEXT, "%" PRIu64 " %016" PRIx64, rows->n, rows->sum);
}

static enum iso_status write_set(struct iso_store *s, const struct row_set *rows,
                                 struct iso_err *err)
{
    char text[ROW_SET_TEXT];
    set_text(text, rows);
    return iso_store_set(s, row_set_key, text, err);
}

/* Counts the rows of a store that does not have the fact yet: a new one, or an older version's. */
static enum iso_status keep_row_set(struct iso_store *s, struct iso_err *err)
{
    struct iso_str known = {0};
    struct row_set rows = {0};
    sqlite3_stmt *q = NULL;
    int code;
    enum iso_status st = iso_store_get(s, &known, row_set_key, err);
    const bool has = known.len > 0;
    iso_str_release(&known);
    if (st != ISO_OK || has)
        return st;
    if (sqlite3_prepare_v2(s->db, "SELECT run FROM run", -1, &q, NULL) != SQLITE_OK)
        return fail(s, err);
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        change_set(&rows, text_of(q, 0), true); /* read_row() rejects one without an id */
    }
    if (code != SQLITE_DONE)
        st = fail(s, err);
    sqlite3_finalize(q);
    return st == ISO_OK ? write_set(s, &rows, err) : st;
}

/* A run joins the set or leaves it. */
static enum iso_status follow_set(struct iso_store *s, const char *id, bool added,
                                  struct iso_err *err)
{
    struct iso_str known = {0};
    struct row_set rows = {0};
    enum iso_status st = iso_store_get(s, &known, row_set_key, err);
    if (st == ISO_OK &&
        sscanf(iso_str_text(&known), "%" SCNu64 " %" SCNx64, &rows.n, &rows.sum) != 2)
        st = iso_fail(err, ISO_BAD_INPUT, "%s: the checksum of its list of runs is damaged%s",
                      s->path, remedy(SQLITE_CORRUPT));
    iso_str_release(&known);
    if (st == ISO_OK)
        change_set(&rows, id, added);
    return st == ISO_OK ? write_set(s, &rows, err) : st;
}

static enum iso_status has_row(struct iso_store *s, bool *found, const char *id,
                               struct iso_err *err)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(s->db, "SELECT 1 FROM run WHERE run = ?", -1, &q, NULL) != SQLITE_OK)
        return fail(s, err);
    bind_text(q, 1, id);
    const int code = sqlite3_step(q);
    *found = code == SQLITE_ROW;
    enum iso_status st = *found || code == SQLITE_DONE ? ISO_OK : fail(s, err);
    sqlite3_finalize(q);
    return st;
}

/* Whether the rows that were read are those that were written. */
static enum iso_status check_set(struct iso_store *s, const struct row_set *found,
                                 struct iso_err *err)
{
    struct iso_str known = {0};
    char text[ROW_SET_TEXT];
    set_text(text, found);
    enum iso_status st = iso_store_get(s, &known, row_set_key, err);
    if (st == ISO_OK && known.len && !iso_str_eq(known.text, text))
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: its list of %" PRIu64 " runs does not match its checksum%s", s->path,
                      found->n, remedy(SQLITE_CORRUPT));
    iso_str_release(&known);
    return st;
}

/* --- runs --- */

static enum iso_status write_row(struct iso_store *store, const struct iso_record *rec,
                                 struct iso_err *err)
{
    struct iso_str sql = {0};
    iso_str_puts(&sql, "INSERT OR REPLACE INTO run(");
    write_columns(&sql, store, put_name);
    iso_str_puts(&sql, ") VALUES(");
    write_columns(&sql, store, put_mark);
    iso_str_putc(&sql, ')');
    sqlite3_stmt *q;
    int code = sqlite3_prepare_v2(store->db, sql.text, -1, &q, NULL);
    iso_str_release(&sql);
    if (code != SQLITE_OK)
        return fail(store, err);
    int i = 1;
    for (const struct iso_column *c = iso_columns; c->name; c++, i++)
        if (c->kind == ISO_COLUMN_NUMBER || c->kind == ISO_COLUMN_FLAG)
            bind_number(q, i, iso_record_number(rec, c));
        else
            bind_text(q, i, iso_record_text(rec, c));
    char sum[17];
    sum_of(sum, rec);
    bind_text(q, i, sum);
    return finish(store, q, err);
}

enum iso_status iso_store_put(struct iso_store *store, const struct iso_record *rec,
                              struct iso_err *err)
{
    bool known = false;
    enum iso_status st = has_row(store, &known, rec->id, err);
    if (st == ISO_OK)
        st = write_row(store, rec, err);
    return st == ISO_OK && !known ? follow_set(store, rec->id, true, err) : st;
}

enum iso_status iso_store_remove(struct iso_store *store, const char *id, struct iso_err *err)
{
    bool known = false;
    enum iso_status st = has_row(store, &known, id, err);
    if (st != ISO_OK || !known)
        return st;
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(store->db, "DELETE FROM run WHERE run = ?", -1, &q, NULL) != SQLITE_OK)
        return fail(store, err);
    bind_text(q, 1, id);
    st = finish(store, q, err);
    return st == ISO_OK ? follow_set(store, id, false, err) : st;
}

static enum iso_status read_row(struct iso_store *s, struct iso_record *rec, sqlite3_stmt *q,
                                struct iso_err *err)
{
    iso_record_init(rec);
    int i = 0;
    for (const struct iso_column *c = iso_columns; c->name; c++, i++) {
        if (sqlite3_column_type(q, i) == SQLITE_NULL)
            continue;
        if (c->kind == ISO_COLUMN_NUMBER || c->kind == ISO_COLUMN_FLAG)
            iso_record_set_number(rec, c, sqlite3_column_double(q, i));
        else
            iso_record_set_text(rec, c, (const char *)sqlite3_column_text(q, i));
    }
    const char *wanted = (const char *)sqlite3_column_text(q, i);
    char found[17];
    sum_of(found, rec);
    if (!rec->id[0])
        return iso_fail(err, ISO_BAD_INPUT, "%s: it has a row without the id of a run%s", s->path,
                        remedy(SQLITE_CORRUPT));
    if (wanted && !iso_str_eq(wanted, found))
        return iso_fail(err, ISO_BAD_INPUT, "%s: its row of run %s does not match its checksum%s",
                        s->path, rec->id, remedy(SQLITE_CORRUPT));
    return ISO_OK;
}

static enum iso_status read_rows(struct iso_store *store, struct iso_record **recs, size_t *n,
                                 struct iso_err *err)
{
    struct iso_str sql = {0};
    iso_str_puts(&sql, "SELECT ");
    write_columns(&sql, store, put_name_or_null);
    iso_str_puts(&sql, " FROM run ORDER BY budget, r, s, seed, run");
    sqlite3_stmt *q;
    int code = sqlite3_prepare_v2(store->db, sql.text, -1, &q, NULL);
    iso_str_release(&sql);
    if (code != SQLITE_OK)
        return fail(store, err);
    size_t room = 0;
    struct row_set found = {0};
    enum iso_status st = ISO_OK;
    while (st == ISO_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        struct iso_record *rec = ISO_PUSH(*recs, *n, room);
        st = read_row(store, rec, q, err);
        change_set(&found, rec->id, true);
    }
    if (st == ISO_OK && code != SQLITE_DONE)
        st = fail(store, err);
    sqlite3_finalize(q);
    return st == ISO_OK ? check_set(store, &found, err) : st;
}

enum iso_status iso_store_all(struct iso_store *store, struct iso_record **recs, size_t *n,
                              struct iso_err *err)
{
    *recs = NULL;
    *n = 0;
    /* The rows and their checksum as of one moment: another program may write meanwhile. */
    enum iso_status st = execute(store, "BEGIN", err);
    if (st != ISO_OK)
        return st;
    st = read_rows(store, recs, n, err);
    sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    if (st != ISO_OK) {
        free(*recs);
        *recs = NULL;
        *n = 0;
    }
    return st;
}

/* --- facts --- */

/* All facts but this one have one checksum, a sum of hashes as that of the set of runs. */
static const char fact_sum_key[] = "facts";

struct fact_set {
    uint64_t sum, known;
    bool has; /* a checksum */
};

static uint64_t fact_hash(const char *key, const char *value)
{
    return iso_xxh64(value, strlen(value), iso_xxh64(key, strlen(key), 0));
}

/* All facts, checked; the value of `wanted` is added to `value`, *found is whether there is one. */
static enum iso_status read_facts(struct iso_store *s, struct fact_set *facts, const char *wanted,
                                  struct iso_str *value, bool *found, struct iso_err *err)
{
    sqlite3_stmt *q;
    int code;
    *facts = (struct fact_set){0};
    *found = false;
    if (sqlite3_prepare_v2(s->db, "SELECT key, value FROM fact", -1, &q, NULL) != SQLITE_OK)
        return fail(s, err);
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        const char *key = text_of(q, 0), *text = text_of(q, 1);
        if (iso_str_eq(key, fact_sum_key)) {
            facts->known = strtoull(text, NULL, 16);
            facts->has = true;
            continue;
        }
        facts->sum += fact_hash(key, text);
        if (iso_str_eq(key, wanted)) {
            iso_str_puts(value, text);
            *found = true;
        }
    }
    enum iso_status st = code == SQLITE_DONE ? ISO_OK : fail(s, err);
    sqlite3_finalize(q);
    if (st == ISO_OK && facts->has && facts->known != facts->sum)
        st = iso_fail(err, ISO_BAD_INPUT,
                      "%s: what it says of the study (data, options, ...) does not match its "
                      "checksum%s",
                      s->path, remedy(SQLITE_CORRUPT));
    return st;
}

static enum iso_status write_fact(struct iso_store *store, const char *key, const char *value,
                                  struct iso_err *err)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(store->db, "INSERT OR REPLACE INTO fact VALUES(?, ?)", -1, &q, NULL) !=
        SQLITE_OK)
        return fail(store, err);
    bind_text(q, 1, key);
    bind_text(q, 2, value);
    return finish(store, q, err);
}

static enum iso_status replace_fact(struct iso_store *store, const char *key, const char *value,
                                    struct iso_err *err)
{
    struct fact_set facts;
    struct iso_str old = {0};
    char text[17];
    bool found;
    enum iso_status st = read_facts(store, &facts, key, &old, &found, err);
    if (found)
        facts.sum -= fact_hash(key, iso_str_text(&old));
    iso_str_release(&old);
    facts.sum += fact_hash(key, value);
    snprintf(text, sizeof text, "%016" PRIx64, facts.sum);
    if (st == ISO_OK)
        st = write_fact(store, key, value, err);
    return st == ISO_OK ? write_fact(store, fact_sum_key, text, err) : st;
}

enum iso_status iso_store_set(struct iso_store *store, const char *key, const char *value,
                              struct iso_err *err)
{
    if (!sqlite3_get_autocommit(store->db)) /* between begin and end */
        return replace_fact(store, key, value, err);
    enum iso_status st = iso_store_begin(store, err);
    if (st != ISO_OK)
        return st;
    st = replace_fact(store, key, value, err);
    return iso_store_end(store, st, err);
}

enum iso_status iso_store_get(struct iso_store *store, struct iso_str *value, const char *key,
                              struct iso_err *err)
{
    struct fact_set facts;
    bool found;
    iso_str_clear(value);
    return read_facts(store, &facts, key, value, &found, err);
}

enum iso_status iso_store_attempt(struct iso_store *store, const struct iso_attempt *a,
                                  struct iso_err *err)
{
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(store->db, "INSERT INTO attempt VALUES(?, ?, ?, ?, ?, ?, ?, ?)", -1, &q,
                           NULL) != SQLITE_OK)
        return fail(store, err);
    bind_text(q, 1, a->run);
    sqlite3_bind_int(q, 2, a->number);
    bind_text(q, 3, a->launcher);
    bind_text(q, 4, a->host);
    bind_number(q, 5, a->started);
    bind_number(q, 6, a->seconds);
    bind_text(q, 7, a->outcome);
    bind_text(q, 8, a->message);
    return finish(store, q, err);
}
