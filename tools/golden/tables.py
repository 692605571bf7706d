"""Tables of runs as pandas writes them, for tests/cli/tables.sh.

    python tools/golden/tables.py tests/data/tables

Needs pandas and pyarrow from PyPI.  The runs are the first forty of examples/paper_baseline.csv.
"""

import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

out = sys.argv[1]
runs = pd.read_csv("examples/paper_baseline.csv", comment="#")
runs = runs[runs["budget"] < 2e18]
runs["diverged"] = False
runs["note"] = ["a, b" if i % 3 else 'quoted "word"' for i in range(len(runs))]
runs["steps"] = [i if i % 4 else None for i in range(len(runs))]
runs = runs.reset_index(drop=True)

runs.to_csv(f"{out}/plain.csv", index=False)
runs.to_csv(f"{out}/index.csv")
runs.to_csv(f"{out}/tabs.tsv", index=False, sep="\t")
runs.to_csv(f"{out}/semicolons.csv", index=False, sep=";")
runs.to_csv(f"{out}/packed.csv.gz", index=False, compression={"method": "gzip", "mtime": 1})
runs.to_csv(f"{out}/utf16.csv", index=False, encoding="utf-16")
runs.to_json(f"{out}/lines.jsonl", orient="records", lines=True, double_precision=15)
runs.to_json(f"{out}/records.json", orient="records", double_precision=15)
runs.to_json(f"{out}/columns.json", orient="columns", double_precision=15)
runs.to_json(f"{out}/index.json", orient="index", double_precision=15)
runs.to_json(f"{out}/split.json", orient="split", double_precision=15)
with open(f"{out}/lists.json", "w") as f:
    f.write("{" + ", ".join(
        f'"{name}": [{", ".join(column)}]'
        for name, column in (
            (name, [pd.Series([v]).to_json(orient="values", double_precision=15)[1:-1] for v in runs[name]])
            for name in runs.columns)) + "}")
runs.to_parquet(f"{out}/snappy.parquet", index=False)
runs.to_parquet(f"{out}/zstd.parquet", index=False, compression="zstd", row_group_size=16)
runs.to_parquet(f"{out}/v2.parquet", index=False, version="2.6", data_page_version="2.0",
                compression="none", use_dictionary=False,
                column_encoding={"r": "DELTA_BINARY_PACKED"} if runs["r"].dtype.kind == "i" else None)
# Losses as decimals kept in integers, as DuckDB writes them, and numbers that need all 32 bits.
exact = pa.Table.from_pandas(runs, preserve_index=False)
exact = exact.set_column(exact.schema.get_field_index("loss"), "loss",
                         exact["loss"].cast(pa.decimal128(8, 5)))
exact = exact.append_column("stamp", pa.array([3_000_000_000] * len(runs), pa.uint32()))
pq.write_table(exact, f"{out}/decimals.parquet", store_decimal_as_integer=True)
runs.to_pickle(f"{out}/frame.pickle")
