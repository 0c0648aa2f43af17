/** The panels of a figure of `dbtool plot`, from its points. */

import * as Plot from "@observablehq/plot";
import { range } from "d3-array";
import type { Row } from "../csv";
import type { Figure, FigureAxis, Panel } from "../figures";
import { shortNumber } from "../numbers";
import { type Drawing, TIP, chartOf, colourOf, linearAxis, logAxis, logDomain, sizeAxis, symbolOf } from "./common";
import { forestChart } from "./forest";

const DOTS = new Set(["scatter", "grid", "units"]);

/** The series of a figure, in the order of their colours. */
export const seriesOf = (figure: Figure) => [...new Set(figure.rows.map(nameOf))];

/** The panels that have anything to draw, with their rows. */
export function panelsOf(figure: Figure): { panel: Panel; rows: Row[] }[] {
  return figure.panels
    .map((panel) => ({ panel, rows: figure.rows.filter((row) => (row["panel_order"] ?? null) === panel.number) }))
    .filter(({ rows }) => rows.some(isPlaced));
}

const nameOf = (row: Row) => String(row["series"] ?? "");
const numberOf = (row: Row, name: string) => (typeof row[name] === "number" ? (row[name] as number) : null);
const isPlaced = (row: Row) => numberOf(row, "x") !== null && numberOf(row, "y") !== null;

export function panelChart(panel: Panel, rows: readonly Row[], series: readonly string[], width: number): Drawing {
  const placed = rows.filter(isPlaced);
  const bands = placed.filter((row) => numberOf(row, "band_low") !== null || numberOf(row, "band_high") !== null);
  const lines = placed.filter((row) => (numberOf(row, "perfect") ?? 0) > 0);
  const place = (row: Row) => series.indexOf(nameOf(row));
  const colour = (row: Row) => colourOf(place(row));
  const symbol = (row: Row) => symbolOf(place(row));
  if (panel.kind === "forest") return forestChart(panel, placed, { colour, symbol, name: nameOf }, width);
  // A curve is a series of one release, or one trial of a study.
  const curve = (row: Row) => [row["release"], row["series"], panel.kind === "curves" ? row["trial_id"] : ""].join("\n");
  const height = Math.round(width * 0.72);
  const x = axis(panel.x, placed.map((row) => numberOf(row, "x") as number), width, "x");
  const y = axis(panel.y, placed.map((row) => numberOf(row, "y") as number), height, "y");
  const isDots = DOTS.has(panel.kind);
  return chartOf(width, height, x, y, [
    Plot.areaY(bands, {
      x: "x",
      y1: (row: Row) => numberOf(row, "band_low") ?? numberOf(row, "y"),
      y2: (row: Row) => numberOf(row, "band_high") ?? numberOf(row, "y"),
      z: curve,
      fill: colour,
      fillOpacity: 0.13,
      clip: true,
    }),
    Plot.line(lines, { x: "x", y: "perfect", z: curve, stroke: colour, strokeOpacity: 0.6, strokeDasharray: "5 4", clip: true }),
    panel.kind === "units" ? Plot.line(hyperbola(placed), { stroke: "var(--ink)", clip: true }) : null,
    // A curve breaks where a row has no y: no trial reached the goal there, or nobody knows.
    isDots ? null : Plot.line(rows, { x: "x", y: "y", z: curve, stroke: colour, strokeWidth: 1.6, clip: true }),
    panel.kind === "curves"
      ? null
      : Plot.dot(placed, {
          x: "x",
          y: "y",
          r: isDots ? 3 : 4,
          symbol,
          fill: colour,
          stroke: "var(--raised)",
          strokeWidth: 0.7,
          clip: true,
        }),
    Plot.tip(placed, Plot.pointer({ x: "x", y: "y", title: (row: Row) => told(panel, row), ...TIP })),
  ]);
}

/** Steps in units of a hyperbola, 1 + 1 / x, over what is drawn. */
function hyperbola(rows: readonly Row[]): [number, number][] {
  const [least, most] = logDomain(rows.map((row) => numberOf(row, "x") as number), 0.05);
  return range(0, 101).map((each) => {
    const x = least * (most / least) ** (each / 100);
    return [x, 1 + 1 / x];
  });
}

function told({ x, y }: Panel, row: Row): string {
  const number = (name: string) => shortNumber(row[name] as number);
  return [nameOf(row), `${x.label || "x"} ${number("x")}`, `${y.label || "y"} ${number("y")}`].join("\n");
}

function axis(of: FigureAxis, values: readonly number[], pixels: number, which: "x" | "y"): Plot.ScaleOptions {
  if (of.scale === "linear") return linearAxis(null, pixels, of.label);
  const domain = logDomain(values, 0.05);
  return of.scale === "log2" && which === "x" ? sizeAxis(domain, pixels, of.label) : logAxis(domain, pixels, of.label, which);
}
