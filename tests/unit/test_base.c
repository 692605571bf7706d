/* base: numbers, random numbers, paths, files, threads, progress. */
#include "test.h"

#include "base/file.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/rng.h"
#include "no_threads.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_numbers(void **state)
{
    (void)state;
    double x;
    int64_t n;
    assert_true(iso_parse_double("4.64e17", &x) && x == 4.64e17);
    assert_true(iso_parse_double("262_144", &x) && x == 262144);
    assert_true(iso_parse_double("1_000_000.5", &x) && x == 1000000.5);
    static const char *const labels[] = {"1_2",    "2026_01_12", "1_0000",
                                         "1_000_", "1__000",     "1e_300"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        assert_false(iso_parse_double(labels[i], &x));
    assert_false(iso_parse_double("", &x));
    assert_false(iso_parse_double("1.5x", &x));
    assert_false(iso_parse_double(" 1", &x));
    assert_false(iso_parse_double("nan", &x));
    assert_false(iso_parse_double("0x10", &x));
    assert_false(iso_parse_double("1e999", &x));
    assert_true(iso_parse_int("1e6", &n) && n == 1000000);
    assert_false(iso_parse_int("1.5", &n));
    char buf[32];
    assert_string_equal(iso_format_double(buf, 0.1), "0.1");
    assert_string_equal(iso_format_count(buf, 98304000), "98.3M");
    assert_string_equal(iso_format_count(buf, 973e6), "973M");
    assert_string_equal(iso_format_count(buf, 12), "12");
    assert_string_equal(iso_format_duration(buf, 3725), "1:02:05");
    for (int i = 0; i < 1000; i++) {
        struct iso_rng rng = {1, 2, (uint64_t)i};
        double y = iso_rng_normal(&rng) * exp(50 * iso_rng_normal(&rng));
        assert_true(strtod(iso_format_double(buf, y), NULL) == y);
    }
}

/* Known answers of the generator's authors (Random123's kat_vectors). */
static void test_philox(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        iso_philox(out, known[i].counter, known[i].key);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

static void test_rng_moments(void **state)
{
    (void)state;
    struct iso_rng rng = {7, iso_rng_stream("test", 0), 0};
    double sum = 0, squares = 0;
    enum { N = 100000 };
    for (int i = 0; i < N; i++) {
        double z = iso_rng_normal(&rng);
        sum += z;
        squares += z * z;
    }
    assert_true(fabs(sum / N) < 4 / sqrt(N));
    assert_true(fabs(squares / N - 1) < 4 * sqrt(2.0 / N));
    int count[7] = {0};
    for (int i = 0; i < 70000; i++)
        count[iso_rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_true(abs(count[i] - 10000) < 400);
}

static const char *nth_word(const void *ctx, size_t i)
{
    const char *const *words = ctx;
    return words[i];
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"plan", "fit", "compare", "report", NULL};
    assert_string_equal(iso_nearest("paln", nth_word, words), "plan");
    assert_string_equal(iso_nearest("comparr", nth_word, words), "compare");
    assert_null(iso_nearest("xyzzy", nth_word, words));
    const char *letters[] = {"a", "b", NULL};
    assert_null(iso_nearest("n", nth_word, letters));
}

static void test_path(void **state)
{
    (void)state;
    assert_string_equal(iso_path_in("a/b", "%s.csv", "runs").text, "a/b/runs.csv");
    assert_string_equal(iso_path_in("a/b/", "c").text, "a/b/c");
    assert_string_equal(iso_path_in("/", "c").text, "/c");
    /* Too long for the system: no shorter name is tried. */
    char dir[PATH_MAX + 1], name[PATH_MAX + 1];
    memset(dir, 'd', PATH_MAX);
    memset(name, 'n', PATH_MAX);
    dir[PATH_MAX] = name[PATH_MAX] = '\0';
    assert_int_equal(access(iso_path_in(dir, "x").text, F_OK), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(access(iso_path_in(".", "%s", name).text, F_OK), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

static bool exists(const char *dir, const char *name)
{
    char path[600];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return lstat(path, &info) == 0;
}

static void put(const char *dir, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

/* The temporary files of killed processes go with the next write; those that somebody holds, other
 * people's names, and links, with what they point to, stay. */
static void test_temporary_names(void **state)
{
    (void)state;
    struct iso_err err = {""};
    struct iso_file_out one, two;
    char dir[] = "/tmp/isodepth-test-XXXXXX", path[100], link[200], target[100];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/f", dir);
    snprintf(target, sizeof target, "%s/precious", dir);
    snprintf(link, sizeof link, "%s/f.fedcba9876543210.tmp", dir);
    put(dir, "other.0123456789abcdef.tmp");
    put(dir, "f.0123456789abcde.tmp");
    put(dir, "f.0123456789ABCDEF.tmp");
    put(dir, ".tmp");
    put(dir, "precious");
    assert_int_equal(symlink(target, link), 0);
    pid_t child = fork();
    if (child == 0) { /* dies with the file half written */
        if (iso_file_open_out(&one, path, &err) == ISO_OK)
            fputs("half", one.f), fflush(one.f), raise(SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));

    assert_int_equal(iso_file_open_out(&one, path, &err), ISO_OK);
    assert_int_equal(iso_file_open_out(&two, path, &err), ISO_OK);
    assert_string_not_equal(one.temp, two.temp);
    fputs("one", one.f);
    assert_int_equal(iso_file_commit(&one, &err), ISO_OK);
    fputs("two", two.f); /* its file was held, so it is there still */
    assert_int_equal(iso_file_commit(&two, &err), ISO_OK);

    char **names;
    size_t n;
    assert_int_equal(iso_dir_list(&names, &n, dir, &err), ISO_OK);
    assert_int_equal(n, 6); /* f, .tmp, precious, the link, two names that are not ours */
    iso_dir_list_free(names, n);
    assert_false(exists(dir, "other.0123456789abcdef.tmp"));
    assert_true(exists(dir, "f.fedcba9876543210.tmp") && exists(dir, "precious"));
    assert_int_equal(iso_file_size(path), 3);
    assert_int_equal(iso_file_write("/dev/null", "x", 1, &err), ISO_BAD_INPUT);
    assert_true(iso_dir_remove(dir));
}

/* Of a link only the link goes: a folder of ours may have been replaced by one. */
static void test_remove_links(void **state)
{
    (void)state;
    char dir[] = "/tmp/isodepth-test-XXXXXX", theirs[100], link[100], ours[100], inside[110];
    assert_non_null(mkdtemp(dir));
    snprintf(theirs, sizeof theirs, "%s/theirs", dir);
    snprintf(link, sizeof link, "%s/link", dir);
    snprintf(ours, sizeof ours, "%s/ours", dir);
    snprintf(inside, sizeof inside, "%s/file", ours);
    assert_int_equal(mkdir(theirs, 0777), 0);
    assert_int_equal(mkdir(ours, 0777), 0);
    put(theirs, "precious");
    assert_int_equal(symlink(theirs, link), 0);
    assert_int_equal(symlink("../theirs/precious", inside), 0);
    assert_true(iso_dir_remove(link) && !exists(dir, "link"));
    assert_true(iso_dir_remove(ours) && !exists(dir, "ours"));
    assert_true(exists(theirs, "precious"));
    assert_true(iso_dir_remove(theirs) && iso_dir_remove(dir));
}

/* A pipe without a writer is rejected, not waited for. */
static void test_map_pipe(void **state)
{
    (void)state;
    struct iso_err err = {""};
    struct iso_map map;
    char path[] = "/tmp/isodepth-test-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    assert_int_equal(iso_map_open(&map, path, &err), ISO_BAD_INPUT);
    alarm(0);
    assert_non_null(strstr(err.msg, "not a regular file"));
    unlink(path);
}

static void test_files(void **state)
{
    (void)state;
    struct iso_err err = {""};
    char dir[] = "/tmp/isodepth-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct iso_str path = {0}, back = {0};
    iso_str_printf(&path, "%s/a/b", dir);
    assert_int_equal(iso_dir_make("", &err), ISO_BAD_INPUT);
    assert_int_equal(iso_dir_make(path.text, &err), ISO_OK);
    iso_str_puts(&path, "/f");
    assert_int_equal(iso_file_write(path.text, "hello", 5, &err), ISO_OK);
    assert_int_equal(iso_file_read(&back, path.text, &err), ISO_OK);
    assert_string_equal(back.text, "hello");

    /* An abandoned file leaves the old one as it was. */
    struct iso_file_out out;
    assert_int_equal(iso_file_open_out(&out, path.text, &err), ISO_OK);
    fputs("other", out.f);
    iso_file_abandon(&out);
    assert_int_equal(iso_file_read(&back, path.text, &err), ISO_OK);
    assert_string_equal(back.text, "hello");

    int fd, fd2;
    bool held;
    assert_int_equal(iso_lock_acquire(&fd, &held, path.text, &err), ISO_OK);
    assert_false(held);
    assert_int_equal(iso_lock_acquire(&fd2, &held, path.text, &err), ISO_OK);
    assert_true(held);
    assert_true(iso_lock_held(path.text));
    iso_lock_release(fd);
    assert_false(iso_lock_held(path.text));
    assert_false(iso_lock_held("/nonexistent/x"));

    assert_int_equal(iso_file_write("/nonexistent/x", "", 0, &err), ISO_IO);
    assert_non_null(strstr(err.msg, "/nonexistent/x: cannot write: No such file"));

    /* A write that the system cuts short (here by a size limit) leaves the old file alone. */
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, tiny;
    getrlimit(RLIMIT_FSIZE, &old);
    tiny = (struct rlimit){1000, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tiny);
    char big[5000] = {0};
    enum iso_status st = iso_file_write(path.text, big, sizeof big, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(st, ISO_IO);
    assert_int_equal(iso_file_size(path.text), 5);
    assert_true(iso_dir_remove(iso_path_in(dir, "a/b").text));
    assert_true(iso_dir_remove(iso_path_in(dir, "a").text));
    assert_true(iso_dir_remove(dir));
    iso_str_release(&path);
    iso_str_release(&back);
}

static void add_index(void *ctx, size_t i, int worker)
{
    (void)worker;
    ((size_t *)ctx)[i] = i * i;
}

static void test_parallel(void **state)
{
    (void)state;
    size_t squares[1000];
    for (int threads = 1; threads <= 4; threads++) {
        memset(squares, 0, sizeof squares);
        iso_parallel_for(1000, threads, add_index, squares);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(squares[i], i * i);
    }
}

/* Without threads the caller does all the work. */
static void test_parallel_without_threads(void **state)
{
    (void)state;
    size_t squares[100] = {0};
    pthread_attr_t before = no_threads_begin();
    iso_parallel_for(100, 4, add_index, squares);
    no_threads_end(before);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(squares[i], i * i);
}

static int stop_at_once(void *ctx, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    ++*(int *)ctx;
    return 1;
}

/* A part that is over in no time is heard of as well, and can be stopped. */
static void test_listener_hears_short_parts(void **state)
{
    (void)state;
    int heard = 0;
    struct iso_listener listener = {.progress = stop_at_once, .ctx = &heard};
    struct iso_progress progress;
    iso_listener_set(&listener);
    iso_progress_begin(&progress, "a short part", 3);
    iso_listener_set(NULL);
    for (int i = 0; i < 3; i++)
        iso_progress_update(&progress, i, NULL);
    iso_progress_end(&progress);
    assert_int_equal(heard, 1);
    assert_true(iso_progress_stopped(&progress));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_philox),
        cmocka_unit_test(test_rng_moments),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_map_pipe),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_temporary_names),
        cmocka_unit_test(test_remove_links),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_parallel_without_threads),
        cmocka_unit_test(test_listener_hears_short_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
