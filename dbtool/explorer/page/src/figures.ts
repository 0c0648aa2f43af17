/** The figures that the page holds, as dbtool/explorer wrote them. */

import { type Row, rowsOfCsv } from "./csv";
import { type Named, textOf } from "./facts";

export interface FigureAxis {
  label: string;
  scale: "log2" | "log10" | "linear";
}

/** How a panel is drawn; its rows are those whose panel_order is its number. */
export interface Panel {
  number: number;
  kind: string;
  title: string;
  goal: string;
  x: FigureAxis;
  y: FigureAxis;
  series: Record<string, Named>;
  /** Of its series, where no legend serves the whole figure. */
  legend: Named[];
  /** What workloads are called, of critical batch sizes. */
  names: Record<string, string>;
}

export interface Figure {
  name: string;
  label: string;
  full_name: string;
  heading: string;
  question: string;
  command: string;
  caption: string[];
  /** What the figure shows, for those who cannot see it. */
  alternative: string;
  sql: string;
  types: ("number" | "boolean" | "string")[];
  csv: string;
  legend: Named[];
  panels: Panel[];
  columns: string[];
  rows: Row[];
}

export interface Figures {
  figures: Figure[];
  missing: { full_name: string; reason: string }[];
}

let read: Promise<Figures> | null = null;

/** Unpacked when they are first seen. */
export const readFigures = () => (read ??= unpacked());

async function unpacked(): Promise<Figures> {
  const packed = textOf("figures");
  if (!packed) return { figures: [], missing: [] };
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const found = JSON.parse(await new Response(stream).text()) as Figures;
  for (const figure of found.figures) {
    const { columns, rows } = rowsOfCsv(figure.csv);
    const numbers = new Set(columns.filter((_, index) => figure.types[index] === "number"));
    figure.columns = columns;
    figure.rows = rows.map((row) => Object.fromEntries(columns.map((name) => [name, valueOf(row[name] ?? "", numbers.has(name))])));
  }
  return found;
}

function valueOf(text: string, isNumber: boolean): string | number | null {
  if (!isNumber || text === "") return text === "" ? null : text;
  return text === "inf" ? Number.POSITIVE_INFINITY : Number(text);
}
