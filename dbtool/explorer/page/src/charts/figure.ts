/** The panels of a figure of `dbtool plot`, from its points. */

import * as Plot from "@observablehq/plot";
import { range } from "d3-array";
import type { Row } from "../csv";
import type { Figure, FigureAxis, Panel } from "../figures";
import { shortNumber } from "../numbers";
import { type Drawing, chartOf, heightOf, linearAxis, logAxis, logDomain, sizeAxis, symbolOf, tip } from "./common";
import { forestChart } from "./forest";

/** Of the trials of a study but the first. */
const FAINT = "var(--faint)";
const [MOST_BANDS, FLAT] = [3, 150];
const DOTS = new Set(["scatter", "grid", "units"]);

/** The panels that have anything to draw, with their rows. */
export function panelsOf(figure: Figure): { panel: Panel; rows: Row[] }[] {
  return figure.panels
    .map((panel) => ({ panel, rows: figure.rows.filter((row) => (row["panel_order"] ?? null) === panel.number) }))
    .filter(({ rows }) => rows.some(isPlaced));
}

const nameOf = (row: Row) => String(row["series"] ?? "");
const numberOf = (row: Row, name: string) => (typeof row[name] === "number" ? (row[name] as number) : null);
const isPlaced = (row: Row) => numberOf(row, "x") !== null && numberOf(row, "y") !== null;

export function panelChart(panel: Panel, all: readonly Row[], width: number): Drawing {
  const rows = all.filter((row) => nameOf(row) in panel.series);
  const placed = rows.filter(isPlaced);
  // Bands of more curves would hide these, and lines of perfect scaling be a hatching.
  const isFew = Object.keys(panel.series).length <= MOST_BANDS;
  const bands = placed.filter((row) => isFew && (numberOf(row, "band_low") !== null || numberOf(row, "band_high") !== null));
  const guides = placed.filter((row) => (numberOf(row, "perfect") ?? 0) > 0);
  const lines = guides.filter((row) => isFew || nameOf(row) === nameOf(guides[0] as Row));
  const look = (row: Row) => panel.series[nameOf(row)];
  const colour = (row: Row) => look(row)?.colour || FAINT;
  const symbol = (row: Row) => symbolOf(look(row)?.marker ?? "");
  if (panel.kind === "forest") return forestChart(panel, placed, colour, width);
  // A curve is a series of one release, or one trial of a study.
  const curve = (row: Row) => [row["release"], row["series"], panel.kind === "curves" ? row["trial_id"] : ""].join("\n");
  const isFlat = panel.kind === "scatter" && new Set(placed.map((row) => row["y"])).size === 1;
  const height = isFlat ? FLAT : heightOf(width, 0.72, 220, 480);
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
    Plot.line(lines, { x: "x", y: "perfect", z: curve, stroke: colour, strokeOpacity: 0.8, strokeDasharray: "5 4", clip: true }),
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
          stroke: (row: Row) => (symbol(row) === symbolOf("") ? colour(row) : "var(--raised)"),
          strokeWidth: 0.7,
          clip: true,
        }),
    Plot.tip(placed, Plot.pointer({ x: "x", y: "y", title: (row: Row) => told(panel, row), ...tip(width) })),
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

function told({ x, y, series }: Panel, row: Row): string {
  const number = (name: string) => shortNumber(row[name] as number);
  return [series[nameOf(row)]?.label, `${x.label || "x"} ${number("x")}`, `${y.label || "y"} ${number("y")}`].join("\n");
}

function axis(of: FigureAxis, values: readonly number[], pixels: number, which: "x" | "y"): Plot.ScaleOptions {
  if (of.scale === "linear") return linearAxis(null, pixels, of.label);
  const domain = logDomain(values, 0.05);
  return of.scale === "log2" && which === "x" ? sizeAxis(domain, pixels, of.label) : logAxis(domain, pixels, of.label, which);
}
