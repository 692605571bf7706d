/* Any bytes as a table in any format: CSV, JSON, Parquet. */
#include "table/sheet.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iso_sheet sheet;
    struct iso_err err;
    size_t bytes = 0;
    if (size > 1 << 14)
        return 0;
    if (iso_sheet_parse(&sheet, data, size, "fuzz", &err) == ISO_OK)
        for (size_t i = 0; i < sheet.n_row; i++)
            for (size_t k = 0; k < sheet.n_col; k++)
                bytes += *sheet.row[i].cell[k] != '\0';
    iso_sheet_release(&sheet);
    return bytes > SIZE_MAX / 2;
}
