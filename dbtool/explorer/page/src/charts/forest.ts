/** Critical batch sizes with their intervals: a line a workload, the smallest at the top. */

import * as Plot from "@observablehq/plot";
import type { Row } from "../csv";
import type { Panel } from "../figures";
import { shortNumber } from "../numbers";
import { type Drawing, LEFT, chartOf, logDomain, sizeAxis, symbolOf, tip } from "./common";

/** Pixels: between names, and the height and about the width of their letters. */
const [BETWEEN, HIGH, WIDE] = [6, 11, 5.8];
const [SHARE_OF_NAMES, MOST_FOR_NAMES] = [0.5, 360];

const low = (row: Row) => (row["low"] ?? row["x"]) as number;
const high = (row: Row) => (row["high"] ?? row["x"]) as number;

export function forestChart(panel: Panel, rows: readonly Row[], colour: (row: Row) => string, width: number): Drawing {
  const nameOf = (row: Row) => panel.names[String(row["workload"])] ?? "";
  const named = new Map(rows.map((row) => [row["y"], nameOf(row)]));
  const lines = [...named.keys()];
  const marginLeft = Math.min(MOST_FOR_NAMES, width * SHARE_OF_NAMES);
  const longest = WIDE * Math.max(...[...named.values()].map((each) => each.length));
  const pitch = BETWEEN + HIGH * Math.ceil(longest / (marginLeft - 14));
  const ends = rows.flatMap((row) => [low(row), high(row)]);
  const x = sizeAxis(logDomain(ends, 0.03), width - marginLeft + LEFT, panel.x.label);
  const arrows = (verdict: string, rotate: number) =>
    Plot.vector(rows.filter((row) => row["verdict"] === verdict), { x: "x", y: "y", length: 16, r: 3, anchor: "start", rotate, stroke: colour, strokeWidth: 1.6 });
  return chartOf(
    width,
    pitch * (lines.length + 1) + 48,
    x,
    { axis: null, label: null, domain: [lines.length + 0.7, 0.3] },
    [
      Plot.axisY(lines, { text: (line: number) => named.get(line) ?? "", lineWidth: (marginLeft - 14) / HIGH, fontSize: HIGH, tickSize: 0 }),
      Plot.ruleY(rows, { y: "y", stroke: "var(--line)" }),
      Plot.ruleY(rows, { y: "y", x1: low, x2: high, stroke: colour, strokeWidth: 1.6 }),
      arrows("lower_bound", 90),
      arrows("upper_bound", 270),
      Plot.dot(rows, { x: "x", y: "y", r: 4, symbol: (row: Row) => symbolOf(panel.series[String(row["series"])]?.marker ?? ""), fill: colour, stroke: "var(--raised)", strokeWidth: 0.7 }),
      Plot.tip(rows, Plot.pointerY({ x: "x", y: "y", title: (row: Row) => told(row, nameOf(row)), ...tip(width) })),
    ],
    { marginLeft, marginTop: 8 },
  );
}

function told(row: Row, name: string): string {
  const size = shortNumber(row["x"] as number);
  const between = `${shortNumber(low(row))} to ${shortNumber(high(row))}`;
  const bound = { lower_bound: `at least ${size}`, upper_bound: `at most ${size}` }[String(row["verdict"])];
  return [name, row["series"], bound ?? `${size} (95%: ${between})`].join("\n");
}
