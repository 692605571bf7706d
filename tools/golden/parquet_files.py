#!/usr/bin/env python3
r"""Writes the small Parquet files of tests/data/parquet with pyarrow, DuckDB and fastparquet.

Run it once, from the root of the project, when a case is added; the files are committed:

    python3 -m venv /tmp/pq && /tmp/pq/bin/pip install \
        pyarrow==26.0.1 duckdb==2.0.0 fastparquet==2026.9.0
    /tmp/pq/bin/python tools/golden/parquet_files.py

The contents follow the formulas below; tests/unit/test_parquet.c has them again, written
independently in C, and compares every row.  pyarrow reads each file back here before it counts.

Text files: codec x encoding x page version x {required column, nulls}; three row groups, pages
of a few hundred bytes.  Files with nulls have page CRCs, the others have none.
Also the fuzzer's seeds, fuzz/seeds/parquet.
Token files: element type x encoding x page version, codecs in turn, with null and empty lists.
"""
import os

import duckdb
import fastparquet
import pandas
import pyarrow as pa
import pyarrow.parquet as pq

OUT = "tests/data/parquet"
SEEDS = "fuzz/seeds/parquet"
N_ROWS = 150
ALPHABET = ["a", "e", "t", " ", "o", "n", "\n", "s", "é", "r", "h", "ж", "l", "d", "😀", "u"]
CODECS = ["none", "snappy", "gzip", "zstd"]
TEXT_ENCODINGS = {"plain": "PLAIN", "dict": None, "deltalen": "DELTA_LENGTH_BYTE_ARRAY",
                  "deltastr": "DELTA_BYTE_ARRAY"}
TOKEN_ENCODINGS = {"plain": "PLAIN", "dict": None, "delta": "DELTA_BINARY_PACKED"}
TOKEN_TYPES = {"uint16": (pa.uint16(), 50257), "int32": (pa.int32(), 32000),
               "uint32": (pa.uint32(), 128256), "int64": (pa.int64(), 128256)}


def text(i):
    """Document i: the first eight letters are everybody's, so that deltas find prefixes."""
    return "".join(ALPHABET[((0 if k < 8 else i * i * 5 + k * i) + k * k * 3 + k * 7) % 16]
                   for k in range(i * 37 % 90))


def rows_of_text(encoding, nulls):
    for i in range(N_ROWS):
        yield None if nulls and i % 7 == 3 else text(i % 13 if encoding == "dict" else i)


def rows_of_tokens(encoding, vocabulary):
    bound = 300 if encoding == "dict" else vocabulary
    for i in range(N_ROWS):
        yield None if i % 7 == 3 else [(i * i * 31 + k * k * 17 + k * i * 7 + 5) % bound
                                       for k in range(i * 29 % 70)]


def write(name, table, column, encoding, codec, pages, checksum, **more):
    path = f"{OUT}/{name}.parquet"
    options = {"use_dictionary": True} if encoding is None else {
        "use_dictionary": False, "column_encoding": {column: encoding}}
    options.update(more)
    pq.write_table(table, path, compression=codec, data_page_version=pages, row_group_size=60,
                   data_page_size=600, write_batch_size=8, write_page_checksum=checksum,
                   store_schema=False, write_statistics=False, **options)
    assert pq.read_table(path, page_checksum_verification=checksum).equals(table), path
    old = options.get("version") == "1.0"
    wanted = encoding or ("PLAIN_DICTIONARY" if old else "RLE_DICTIONARY")
    assert wanted in pq.ParquetFile(path).metadata.row_group(0).column(0).encodings, path


def text_files():
    for codec in CODECS:
        for encoding, arrow_name in TEXT_ENCODINGS.items():
            for version in ("1.0", "2.0"):
                for nulls in (False, True):
                    rows = list(rows_of_text(encoding, nulls))
                    schema = pa.schema([pa.field("text", pa.string(), nullable=nulls)])
                    name = f"text_{codec}_{encoding}_v{version[0]}_{'nulls' if nulls else 'all'}"
                    # Format 1.0 has the older dictionary encoding, PLAIN_DICTIONARY.
                    old = {"version": "1.0"} if name.endswith("dict_v1_all") else {}
                    write(name, pa.table({"text": rows}, schema=schema), "text", arrow_name,
                          codec, version, nulls, **old)
    schema = pa.schema([pa.field("text", pa.string())])
    table = pa.table({"text": list(rows_of_text("plain", True))}, schema=schema)
    # The dictionary soon grows too large: plain pages follow in the same chunk.
    write("text_fallback", table, "text", None, "zstd", "1.0", True,
          dictionary_pagesize_limit=500)


def token_files():
    turn = 0
    for kind, (arrow_type, vocabulary) in TOKEN_TYPES.items():
        for encoding, arrow_name in TOKEN_ENCODINGS.items():
            for version in ("1.0", "2.0"):
                rows = list(rows_of_tokens(encoding, vocabulary))
                schema = pa.schema([pa.field("tokens", pa.list_(arrow_type))])
                write(f"tokens_{kind}_{encoding}_v{version[0]}",
                      pa.table({"tokens": rows}, schema=schema), "tokens.list.element", arrow_name,
                      CODECS[turn % 4], version, True)
                turn += 1


def wide_file():
    """Columns around the text, as FineWeb-Edu has them, with statistics and Arrow's schema."""
    rows = list(rows_of_text("plain", True))
    table = pa.table({"id": [f"id-{i}" for i in range(N_ROWS)],
                      "meta": [{"dump": "CC", "score": i / 7} for i in range(N_ROWS)],
                      "text": rows, "tags": [["x"] * (i % 3) for i in range(N_ROWS)],
                      "int_score": list(range(N_ROWS))})
    pq.write_table(table, f"{OUT}/wide.parquet", compression="snappy", row_group_size=64,
                   write_page_checksum=True)


def duckdb_files():
    db = duckdb.connect()
    db.register("t", pa.table({"text": list(rows_of_text("plain", True))}))
    db.register("d", pa.table({"text": list(rows_of_text("dict", True)) * 20}))
    db.register("u", pa.table({"tokens": pa.array(list(rows_of_tokens("dict", 50257)),
                                                  pa.list_(pa.uint16()))}))
    for codec in ("uncompressed", "snappy", "gzip", "zstd"):
        for version in ("V1", "V2"):
            options = f"(FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version})"
            stem = f"{OUT}/duckdb_%s_{codec}_{version.lower()}.parquet"
            db.execute(f"COPY (SELECT text FROM t) TO '{stem % 'text'}' {options}")
            db.execute(f"COPY (SELECT text FROM d) TO '{stem % 'repeat'}' {options}")
            db.execute(f"COPY (SELECT tokens FROM u) TO '{stem % 'tokens'}' {options}")


def other_files():
    """fastparquet puts zeros behind the values of a page; an empty table has no pages."""
    for encoding in ("plain", "dict"):
        frame = pandas.DataFrame({"text": list(rows_of_text(encoding, True))})
        if encoding == "dict":
            frame["text"] = frame["text"].astype("category")
        fastparquet.write(f"{OUT}/fastparquet_{encoding}.parquet", frame, compression="SNAPPY",
                          row_group_offsets=60, object_encoding="utf8")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), f"{OUT}/empty.parquet")


def packed_file():
    """Rows of one length, as a packed data set is published; two of them are alike."""
    rows = [[1] + [(7 * i + t) % 500 for t in range(16)] for i in range(40)]
    rows[21] = rows[3]
    table = pa.table({"tokens": pa.array(rows, pa.list_(pa.uint16()))})
    pq.write_table(table, f"{OUT}/packed_rows.parquet", compression="zstd", row_group_size=16,
                   write_page_checksum=True)


def fuzz_seeds():
    """Files of a few rows without CRCs, which would stop a fuzzer at the first page."""
    os.makedirs(SEEDS, exist_ok=True)
    for turn, (name, encoding) in enumerate([*TEXT_ENCODINGS.items(), *TOKEN_ENCODINGS.items()]):
        tokens = turn >= len(TEXT_ENCODINGS)
        column = "tokens" if tokens else "text"
        rows = rows_of_tokens("dict", 0) if tokens else rows_of_text("dict", True)
        table = pa.table({column: list(rows)[:9]})
        leaf = "tokens.list.element" if tokens else "text"
        options = {"column_encoding": {leaf: encoding}} if encoding else {}
        for version in ("1.0", "2.0"):
            pq.write_table(table, f"{SEEDS}/{column}_{name}_v{version[0]}",
                           compression=CODECS[turn % 4], data_page_version=version,
                           store_schema=False, write_statistics=False,
                           use_dictionary=encoding is None, **options)


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    text_files()
    token_files()
    wide_file()
    duckdb_files()
    other_files()
    packed_file()
    fuzz_seeds()
    names = os.listdir(OUT)
    print(len(names), "files,", sum(os.path.getsize(f"{OUT}/{n}") for n in names), "bytes")
