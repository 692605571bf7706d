#!/usr/bin/env python3
"""Writes examples/wandb_export.csv: runs of the pocket study under the names that a W&B export has.

    tools/golden/wandb_example.py

The numbers are those of docs/results/pocket: base.csv, and the looped runs of truncated.csv, whose
r = 1 runs are the base's.
"""

import csv
import pathlib

root = pathlib.Path(__file__).resolve().parents[2]


def rows(recipe):
    with open(root / f"docs/results/pocket/{recipe}.csv", newline="") as f:
        for row in csv.DictReader(f):
            if recipe == "base" or row["r"] != "1":
                params = sum(int(row[key]) for key in ("n_once", "n_rec", "n_inject"))
                yield {
                    "Name": f"{recipe}-{row['run']}",
                    "State": "finished",
                    "recipe": recipe,
                    "config/num_loops": row["r"],
                    "config/seed": row["seed"],
                    "n_params": params,
                    "compute_budget": row["budget"],
                    "train/tokens": row["tokens"],
                    "Runtime": round(float(row["seconds"])),
                    "val/loss": row["loss"],
                }


table = [*rows("base"), *rows("truncated")]
with open(root / "examples/wandb_export.csv", "w", newline="") as f:
    out = csv.DictWriter(f, table[0].keys(), lineterminator="\n")
    out.writeheader()
    out.writerows(table)
