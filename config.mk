# Optional libraries. Each row: a probe, its flags, and the sources that are left out without it.
# YAML is always needed; set ISO_WITHOUT="zstd sqlite" to build as if those were missing.

PKG_CONFIG ?= pkg-config
ISO_WITHOUT ?=
pkg = $(if $(filter $1,$(ISO_WITHOUT)),,$(shell $(PKG_CONFIG) --exists $2 && echo 1))
header = $(if $(filter $1,$(ISO_WITHOUT)),,$(shell echo '\#include <$2>' | \
    $(CC) -E -x c - >/dev/null 2>&1 && echo 1))

HAVE_NLOPT         := $(call header,nlopt,nlopt.h)
HAVE_SENTENCEPIECE := $(call pkg,sentencepiece,sentencepiece)
HAVE_ZLIB          := $(call pkg,zlib,zlib)
HAVE_ZSTD          := $(call pkg,zstd,libzstd)
HAVE_SNAPPY        := $(call header,snappy,snappy-c.h)
HAVE_SQLITE        := $(call pkg,sqlite,sqlite3)
HAVE_ICONV         := $(call header,iconv,iconv.h)
HAVE_MPI           := $(call pkg,mpi,mpi-c)

# STATIC=DIR links no shared libraries. NLopt and SentencePiece come from DIR (tools/static_libs).
# A static glibc would load iconv's modules at run time, so iconv stays out, and MPI its own.
STATIC ?=
ifneq ($(STATIC),)
HAVE_NLOPT         := $(if $(wildcard $(STATIC)/lib/libnlopt.a),1)
HAVE_SENTENCEPIECE := $(if $(wildcard $(STATIC)/lib/libsentencepiece.a),1)
HAVE_ICONV         :=
HAVE_MPI           :=
CPPFLAGS += -isystem $(STATIC)/include
LDFLAGS += -static -s -L$(STATIC)/lib
endif

PARTS := NLOPT SENTENCEPIECE ZLIB ZSTD SNAPPY SQLITE ICONV MPI
HAVE_FLAGS := $(foreach p,$(PARTS),-DISO_HAVE_$p=$(or $(HAVE_$p),0))

LIBS := -lyaml $(if $(HAVE_NLOPT),-lnlopt)
LIBS += $(if $(HAVE_SENTENCEPIECE),-lsentencepiece_train -lsentencepiece)
LIBS += $(if $(HAVE_ZLIB),-lz) $(if $(HAVE_ZSTD),-lzstd) $(if $(HAVE_SNAPPY),-lsnappy)
LIBS += $(if $(HAVE_SQLITE),-lsqlite3)
ifneq ($(HAVE_MPI),)
CPPFLAGS += $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags mpi-c))
LIBS += $(shell $(PKG_CONFIG) --libs mpi-c)
endif

# A part that is missing leaves out its one file.
LEFT_OUT :=
LEFT_OUT += $(if $(HAVE_NLOPT),,src/fit/solver_lbfgs.c)
LEFT_OUT += $(if $(HAVE_SENTENCEPIECE),,src/data/spm.cc)
# Other processors than x86-64 have the plain C kernels.
LEFT_OUT += $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),,$(wildcard src/kern/*_avx2.c \
    src/kern/*_avx512.c src/kern/*_avx512bf16.c src/kern/*_amx.c tests/kern/*_avx2.c))
LEFT_OUT += $(if $(HAVE_SQLITE),src/sweep/store_none.c,src/sweep/store.c)
LEFT_OUT += $(if $(HAVE_MPI),src/comm/comm_one.c,src/comm/comm_mpi.c)
