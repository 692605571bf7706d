# isodepth: `make help` lists the targets.
#
# Layout: every src/<module>/*.c but src/cmd/main.c goes into build/libisodepth.a. A file
# whose name ends in an instruction set gets that set's flags. Optional libraries are found with
# pkg-config or a compile test and turn into ISO_HAVE_* (see config.mk).

B ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
# V=1 shows the whole command lines.
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $1 $2")
PREFIX ?= /usr/local
CSTD = -std=c11 -D_GNU_SOURCE
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat-security -Wstrict-prototypes \
       -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Werror
OPT ?= -O2 -g
# Build with all cores where the user did not say how many.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
# The fuzz and sanitizer builds add their flags here.
EXTRA ?=

.DEFAULT_GOAL := all
include config.mk

CPPFLAGS += -Isrc -Iinclude $(HAVE_FLAGS)
CFLAGS_ALL = $(CSTD) $(OPT) $(WARN) -fno-math-errno -ffp-contract=off -fPIC $(EXTRA)
LIBS += -lm -lpthread

# Tests run wider kernels on AVX2: GCC then notes that 64-byte vectors were passed otherwise before
# its version 4.6, which concerns nobody.
ISA_avx2   = -mavx2 -mfma -mf16c -Wno-psabi
ISA_avx512 = -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma
ISA_avx512bf16 = $(ISA_avx512) -mavx512bf16
ISA_amx    = $(ISA_avx512bf16) -mamx-tile -mamx-bf16
isa_flags  = $(foreach isa,avx2 avx512 avx512bf16 amx,$(if $(filter %_$(isa).c,$1),$(ISA_$(isa))))

ALL_SRC   := $(sort $(wildcard src/*/*.c src/*/*.cc))
SRC       := $(filter-out $(LEFT_OUT),$(ALL_SRC))
LIB_SRC   := $(filter-out src/cmd/main.c,$(SRC))
LIB_OBJ   := $(patsubst %,$(B)/%.o,$(LIB_SRC))
CMD_OBJ   := $(B)/src/cmd/main.c.o

UNIT_SRC  := $(sort $(filter-out $(LEFT_OUT), \
             $(wildcard tests/unit/*.c tests/kern/*.c tests/grad/*.c tests/golden/*.c)))
UNIT_BIN  := $(patsubst %.c,$(B)/%,$(UNIT_SRC))
LONG_SRC  := $(sort $(wildcard tests/long/*.c))
LONG_BIN  := $(patsubst %.c,$(B)/%,$(LONG_SRC))
CLI_TESTS := $(sort $(wildcard tests/cli/*.sh))
FUZZ_SRC  := $(sort $(wildcard fuzz/fuzz_*.c))
FUZZ_BIN  := $(patsubst fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
BENCH_BIN := $(patsubst %.c,$(B)/%,$(sort $(wildcard bench/bench_*.c)))
LINK = $(if $(filter %.cc,$(SRC)),$(CXX),$(CC))

## all: build the program and the library (default)
all: $(B)/isodepth

$(B)/%.c.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(call isa_flags,$<) -MMD -MP -c $< -o $@

$(B)/%.cc.o: %.cc $(B)/flags
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) -std=c++17 $(OPT) -Wall -Wextra -Werror -fPIC $(EXTRA) -MMD -MP -c $< -o $@

# Rebuild when the flags change (another compiler, another set of libraries).
$(B)/flags: force
	@mkdir -p $(@D)
	@echo '$(CC) $(CXX) $(CPPFLAGS) $(CFLAGS_ALL) $(LIBS)' | cmp -s - $@ || \
	    echo '$(CC) $(CXX) $(CPPFLAGS) $(CFLAGS_ALL) $(LIBS)' > $@

$(B)/libisodepth.a: $(LIB_OBJ)
	@rm -f $@
	$(call say,AR ,$@)
	$(Q)$(AR) rcs $@ $^

# For other languages: isodepth_* and nothing else is visible.  With STATIC it needs no library but
# the C library's.
$(B)/libisodepth.so: $(LIB_OBJ) tools/exports
	$(call say,LD ,$@)
	$(Q)$(LINK) -shared $(OPT) $(EXTRA) $(filter-out -static,$(LDFLAGS)) -Wl,--version-script=tools/exports \
	    $(LIB_OBJ) $(if $(STATIC),-static-libgcc -static-libstdc++ -Wl$(comma)-Bstatic) \
	    $(filter-out -lm -lpthread,$(LIBS)) $(if $(STATIC),-Wl$(comma)-Bdynamic) -lm -lpthread -o $@
comma := ,

$(B)/isodepth: $(CMD_OBJ) $(B)/libisodepth.a
	$(call say,LD ,$@)
	$(Q)$(LINK) $(OPT) $(EXTRA) $(LDFLAGS) $^ $(LIBS) -o $@

$(B)/tests/%: tests/%.c $(B)/libisodepth.a $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS_ALL) $(call isa_flags,$<) -Wno-missing-prototypes -MMD -MP \
	    -MT $@ -c $< -o $@.o
	$(Q)$(LINK) $(OPT) $(EXTRA) $(LDFLAGS) $@.o $(B)/libisodepth.a $(LIBS) -lcmocka -o $@

$(B)/bench/%: bench/%.c $(B)/libisodepth.a $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -MT $@ -c $< -o $@.o
	$(Q)$(LINK) $(OPT) $(EXTRA) $(LDFLAGS) $@.o $(B)/libisodepth.a $(LIBS) -o $@

## deps: install the Debian packages that the build and the tests need
deps:
	@tools/deps all

## demo: do the main job
demo:
	@tools/deps demo
	@$(MAKE) --no-print-directory $(JOBS) all
	@tools/demo

## test: run the tests (installs what is missing first)
test:
	@tools/deps test
	@$(MAKE) --no-print-directory $(JOBS) all tests
	@B=$(B) tools/run_tests $(UNIT_BIN) $(CLI_TESTS)

## tests: build the test programs without running them
tests: $(UNIT_BIN)

## test-long: the slow checks (coverage of intervals, long trainings)
test-long:
	@tools/deps test
	@$(MAKE) --no-print-directory $(JOBS) all $(LONG_BIN)
	@B=$(B) TEST_TIMEOUT=7200 tools/run_tests $(LONG_BIN) $(wildcard tests/long/*.sh)

## check-one: build and run one test: make check-one T=tests/unit/test_json.c
check-one: all
	@$(MAKE) --no-print-directory $(if $(filter %.c,$(T)),$(B)/$(T:.c=))
	@B=$(B) tools/run_tests $(if $(filter %.c,$(T)),$(B)/$(T:.c=),$(T))

## san: the tests under the address and undefined-behaviour sanitizers (MPI has leaks of its own)
san:
	@tools/deps san
	@$(MAKE) --no-print-directory $(JOBS) B=$(B)-san CC=clang CXX=clang++ OPT="-O1 -g" \
	    ISO_WITHOUT="$(ISO_WITHOUT) mpi" \
	    EXTRA="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
	    -DISO_ARENA_BLOCK=0" all tests
	@B=$(B)-san tools/run_tests $(patsubst $(B)/%,$(B)-san/%,$(UNIT_BIN)) $(CLI_TESTS)

## tsan: the threaded tests under the thread sanitizer
tsan:
	@tools/deps san
	@$(MAKE) --no-print-directory $(JOBS) B=$(B)-tsan CC=clang CXX=clang++ OPT="-O1 -g" \
	    ISO_WITHOUT="$(ISO_WITHOUT) mpi" \
	    EXTRA="-fsanitize=thread -fno-omit-frame-pointer" all tests
	@B=$(B)-tsan tools/run_tests $(patsubst $(B)/%,$(B)-tsan/%,$(UNIT_BIN))

## fuzz: fuzz every reader of outside bytes for FUZZ_SECONDS each (default 30; FUZZ_KEEP=1: keep what it finds)
FUZZ_SECONDS ?= 30
fuzz:
	@tools/deps san
	@$(MAKE) --no-print-directory $(JOBS) B=$(B)-fuzz CC=clang CXX=clang++ OPT="-O1 -g" \
	    EXTRA="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all \
	    -DISO_ARENA_BLOCK=0" fuzz-run

fuzz-run: $(FUZZ_BIN)
	@failed=; for f in $(FUZZ_BIN); do tools/run_fuzz $$f $(FUZZ_SECONDS) || failed="$$failed $$f"; done; \
	    [ -z "$$failed" ] || { echo "faults found by:$$failed"; exit 1; }

$(B)/fuzz/%: fuzz/%.c $(B)/libisodepth.a
	@mkdir -p $(@D)
	$(call say,CC ,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -Wno-missing-prototypes -MMD -MP -MT $@ -c $< -o $@.o
	$(Q)$(LINK) $(OPT) $(EXTRA) -fsanitize=fuzzer $@.o $(B)/libisodepth.a $(LIBS) -o $@

## bench: measure speed, side by side with peers
bench:
	@tools/deps bench
	@$(MAKE) --no-print-directory $(JOBS) all $(BENCH_BIN)
	@B=$(B) tools/run_bench $(BENCH_BIN)

## lint: layers, banned functions, format, clang-tidy, shell scripts
lint:
	@tools/deps lint
	@B=$(B) tools/lint $(CPPFLAGS)

## format: lay out the sources with clang-format
format:
	clang-format -i $(wildcard src/*/*.c src/*/*.h src/*/*.cc include/*.h tests/*/*.c tests/*.c tests/*.h \
	    fuzz/*.c bench/*.c)

## install: program, library, header, man pages, completion under PREFIX
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include \
	    $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/isodepth \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -m 755 $(B)/isodepth $(DESTDIR)$(PREFIX)/bin/isodepth
	install -m 644 $(B)/libisodepth.a $(DESTDIR)$(PREFIX)/lib/libisodepth.a
	install -m 644 include/isodepth.h $(DESTDIR)$(PREFIX)/include/isodepth.h
	cp -r grids examples $(wildcard suites) $(DESTDIR)$(PREFIX)/share/isodepth/
	install -m 755 tools/corpus_debian $(DESTDIR)$(PREFIX)/share/isodepth/
	install -m 644 tools/corpus_text.py $(DESTDIR)$(PREFIX)/share/isodepth/
	$(B)/isodepth man $(DESTDIR)$(PREFIX)/share/man/man1
	$(B)/isodepth completion > \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/isodepth

## dist: a source archive of the committed tree
dist:
	git archive --format=tar.gz --prefix=isodepth-$(VERSION)/ -o isodepth-$(VERSION).tar.gz HEAD
VERSION = $(shell sed -n 's/.*ISODEPTH_VERSION "\(.*\)"/\1/p' include/isodepth.h)

## static: build/static/isodepth, one file without shared libraries, for any x86-64 Linux
static:
	@B=$(B) tools/deps static
	@tools/static_libs build $(B)/static
	@$(MAKE) --no-print-directory $(JOBS) B=$(B)/static STATIC=$(B)/static all

## python: one wheel for any Python from 3.9 on, in build/python
python: static
	@$(MAKE) --no-print-directory $(JOBS) B=$(B)/static STATIC=$(B)/static $(B)/static/libisodepth.so
	@tools/wheel $(B)/static $(B)/python

## clean: remove what was built
clean:
	rm -rf $(B) $(B)-san $(B)-tsan $(B)-fuzz

## help: list the targets
help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

.PHONY: all deps demo test tests test-long check-one san tsan fuzz fuzz-run bench lint format \
    static python install dist clean help force
-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d) \
    $(addsuffix .d,$(UNIT_BIN) $(LONG_BIN) $(BENCH_BIN) $(FUZZ_BIN))
