/** Tables as CSV text, and back. */

import { csvFormat, csvParseRows } from "d3-dsv";

export type Row = Record<string, unknown>;

export function csvOf(columns: readonly string[], rows: readonly Row[]): string {
  return `${csvFormat(rows as Row[], [...columns])}\n`;
}

/** The rows of a CSV text by the names in its first line, and the lines that they stand in; blank ones are passed over. */
export function rowsOfCsv(text: string): { columns: string[]; rows: Record<string, string>[]; lines: number[] } {
  const filled = csvParseRows(text, (cells, index) => ({ cells: cells.map((each) => each.trim()), line: index + 1 })).filter(
    ({ cells }) => cells.some(Boolean),
  );
  const [columns = [], ...rest] = filled.map(({ cells }) => cells);
  const rows = rest.map((cells) => Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ""])));
  return { columns, rows, lines: filled.slice(1).map(({ line }) => line) };
}
