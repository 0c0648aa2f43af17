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

/** The rows of a CSV text by the names in its first line; blank lines are passed over. */
export function rowsOfCsv(text: string, file = "it"): { columns: string[]; rows: Record<string, string>[] } {
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  const source = text.replace(/^\uFEFF/, "");
  const lines: string[][] = [];
  let line: string[] = [];
  while (cell.lastIndex < source.length) {
    const found = cell.exec(source);
    if (!found) throw new Error(`${file}, line ${lines.length + 1}: a quote stands where none belongs`);
    const [, quoted, plain = "", end] = found;
    line.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (end !== ",") {
      if (line.some((each) => each !== "")) lines.push(line);
      line = [];
    }
  }
  if (line.length) lines.push([...line, ""]);
  const [columns = [], ...rest] = lines;
  return {
    columns,
    rows: rest.map((cells) => Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ""]))),
  };
}
