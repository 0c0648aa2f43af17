/** Tables as CSV text, as RFC 4180 has it, and back. */

export type Row = Record<string, unknown>;

export function csvOf(columns: readonly string[], rows: readonly Row[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((name) => row[name]))];
  return lines.map((cells) => `${cells.map(cellOf).join(",")}\n`).join("");
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" && !Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The rows of a CSV text by the names in its first line, and the lines that they begin in; blank ones are passed over. */
export function rowsOfCsv(text: string, file = "it"): { columns: string[]; rows: Record<string, string>[]; lines: number[] } {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  const source = text.replace(/^\uFEFF/, "");
  const filled: { cells: string[]; line: number }[] = [];
  let cells: string[] = [];
  let [line, begun] = [1, 1];
  while (cell.lastIndex < source.length) {
    const found = cell.exec(source);
    if (!found) throw new Error(`${file}, line ${line}: a quote stands where none belongs`);
    const [, quoted, plain = "", end] = found;
    cells.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (quoted?.includes("\n")) line += quoted.split("\n").length - 1;
    if (end === ",") continue;
    if (cells.some((each) => each !== "")) filled.push({ cells, line: begun });
    cells = [];
    begun = ++line;
  }
  if (cells.length) filled.push({ cells: [...cells, ""], line: begun });
  const [columns = [], ...rest] = filled.map((each) => each.cells);
  return {
    columns,
    rows: rest.map((cells) => Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ""]))),
    lines: filled.slice(1).map((each) => each.line),
  };
}
