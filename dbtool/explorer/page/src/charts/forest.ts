/** Critical batch sizes with their intervals: a line a workload, the smallest at the top. */

import * as Plot from "@observablehq/plot";
import type { Row } from "../csv";
import type { Panel } from "../figures";
import { shortNumber } from "../numbers";
import { type Drawing, TIP, chartOf, logDomain, sizeAxis } from "./common";

const LINE = 17;
const [SHARE_OF_NAMES, MOST_FOR_NAMES] = [0.46, 240];

/** How a row looks, and what it is called. */
interface Look {
  colour: (row: Row) => string;
  symbol: (row: Row) => Plot.DotOptions["symbol"];
  name: (row: Row) => string;
}

const numberOf = (row: Row, name: string) => (typeof row[name] === "number" ? (row[name] as number) : null);
const low = (row: Row) => numberOf(row, "low") ?? numberOf(row, "x");
const high = (row: Row) => numberOf(row, "high") ?? numberOf(row, "x");
const nameOf = (row: Row) => String(row["workload"] ?? row["series"] ?? "");

export function forestChart(panel: Panel, rows: readonly Row[], { colour, symbol, name }: Look, width: number): Drawing {
  const named = new Map(rows.map((row) => [row["y"], nameOf(row)]));
  const lines = [...named.keys()];
  const marginLeft = Math.min(MOST_FOR_NAMES, width * SHARE_OF_NAMES);
  const ends = rows.flatMap((row) => [low(row), high(row)]).filter((each) => each !== null);
  const x = sizeAxis(logDomain(ends, 0.03), width - marginLeft, panel.x.label);
  const bounds = (verdict: string) => rows.filter((row) => row["verdict"] === verdict);
  const arrows = (verdict: string, rotate: number) =>
    Plot.vector(bounds(verdict), { x: "x", y: "y", length: 16, r: 3, anchor: "start", rotate, stroke: colour, strokeWidth: 1.6 });
  return chartOf(
    width,
    LINE * (lines.length + 1) + 80,
    x,
    { axis: null, label: null, domain: [lines.length + 0.7, 0.3] },
    [
      Plot.axisY(lines, {
        text: (line: number) => named.get(line) ?? "",
        lineWidth: (marginLeft - 14) / 11,
        textOverflow: "ellipsis-middle",
        fontSize: 11,
        tickSize: 0,
      }),
      Plot.ruleY(rows, { y: "y", stroke: "var(--line)" }),
      Plot.ruleY(rows, { y: "y", x1: low, x2: high, stroke: colour, strokeWidth: 1.6 }),
      arrows("lower_bound", 90),
      arrows("upper_bound", 270),
      Plot.dot(rows, { x: "x", y: "y", r: 4, symbol, fill: colour, stroke: "var(--raised)", strokeWidth: 0.7 }),
      Plot.tip(rows, Plot.pointerY({ x: "x", y: "y", title: (row: Row) => told(row, name(row)), ...TIP })),
    ],
    { marginLeft },
  );
}

function told(row: Row, series: string): string {
  const size = shortNumber(row["x"] as number);
  const between = `${shortNumber(low(row) as number)} to ${shortNumber(high(row) as number)}`;
  const bound = { lower_bound: `at least ${size}`, upper_bound: `at most ${size}` }[String(row["verdict"])];
  return [nameOf(row), series, bound ?? `${size} (95%: ${between})`].join("\n");
}
