/** Files that a run has besides its journal, by their endings: tables, and `json`, all records in one list. */
export const TABLE_FILES = ['csv', 'json', 'parquet'] as const
export type TableFile = (typeof TABLE_FILES)[number]
