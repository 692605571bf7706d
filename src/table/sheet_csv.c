/* Sheets in CSV: base/csv.h reads them; this hands their cells over. */
#include "base/csv.h"
#include "table/sheet.h"

static bool matches(const char *bytes, size_t len)
{
    (void)bytes, (void)len;
    return true;
}

static enum iso_status parse(struct iso_sheet *sheet, const char *bytes, size_t len,
                             struct iso_err *err)
{
    struct iso_csv csv;
    enum iso_status st = iso_csv_parse(&csv, &sheet->arena, bytes, len, sheet->path, err);
    if (st != ISO_OK)
        return st;
    for (size_t i = 0; i < csv.n_col; i++)
        (void)iso_sheet_column(sheet, csv.name[i]);
    for (size_t i = 0; i < csv.n_row; i++)
        iso_sheet_add_row(sheet, csv.row[i].line)->cell = csv.row[i].field;
    return ISO_OK;
}

const struct iso_sheet_format iso_sheet_csv = {"csv", matches, parse};
