/** A figure of `dbtool plot` from its points: a small chart for each panel. */

import * as Plot from "@observablehq/plot";
import type { Row } from "../csv";
import type { Figure, FigureAxis, Panel } from "../figures";
import { shortNumber } from "../numbers";
import { type Axis, BASE, type Drawing, TIP, colourOf, linearAxis, logAxis, logDomain, sizeAxis, symbolOf } from "./common";

const NARROWEST = 300;
const DOTS = new Set(["scatter", "grid"]);

/** All panels as one element; the largest is as wide as there is room. */
export function figureChart(figure: Figure, width: number): Drawing {
  const { panels } = figure;
  const series = [...new Set(figure.rows.map(seriesOf))];
  const columns = Math.max(1, Math.min(3, panels.length, Math.floor(width / NARROWEST)));
  const each = Math.floor((width - (columns - 1) * 16) / columns);
  const all = document.createElement("div") as unknown as Drawing & HTMLElement;
  all.className = "panels";
  all.append(legend(series));
  for (const panel of panels) {
    const rows = figure.rows.filter((row) => (row["panel_order"] ?? null) === panel.number);
    if (!rows.some(isPlaced)) continue;
    const holder = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = panel.title;
    const goal = document.createElement("small");
    goal.textContent = panel.goal;
    holder.style.width = `${each}px`;
    holder.append(caption, goal, panelChart(panel, rows, series, each));
    all.append(holder);
  }
  return all;
}

const seriesOf = (row: Row) => String(row["series"] ?? "");
const numberOf = (row: Row, name: string) => (typeof row[name] === "number" ? (row[name] as number) : null);

const isPlaced = (row: Row) => numberOf(row, "x") !== null && numberOf(row, "y") !== null;

function legend(series: readonly string[]): HTMLElement {
  const list = document.createElement("ul");
  list.className = "legend";
  if (series.length > 16) return list;
  series.forEach((name, index) => {
    const item = document.createElement("li");
    const swatch = document.createElement("span");
    swatch.className = "swatch";
    swatch.style.background = colourOf(index);
    item.append(swatch, name);
    list.append(item);
  });
  return list;
}

function panelChart(panel: Panel, rows: readonly Row[], series: readonly string[], width: number): Element {
  const placed = rows.filter(isPlaced);
  const bands = placed.filter((row) => numberOf(row, "band_low") !== null || numberOf(row, "band_high") !== null);
  const lines = placed.filter((row) => (numberOf(row, "perfect") ?? 0) > 0);
  const colour = (row: Row) => colourOf(series.indexOf(seriesOf(row)));
  // A curve is a series of one release, or one trial of a study.
  const curve = (row: Row) => [row["release"], row["series"], panel.kind === "curves" ? row["trial_id"] : ""].join("\n");
  const height = Math.round(width * 0.72);
  const x = axis(panel.x, placed.map((row) => numberOf(row, "x") as number), width, "x");
  const y = axis(panel.y, placed.map((row) => numberOf(row, "y") as number), height, "y");
  const dots = DOTS.has(panel.kind);
  return Plot.plot({
    ...BASE,
    width,
    height,
    x: x.scale,
    y: y.scale,
    color: { type: "identity" },
    symbol: { type: "identity" },
    marks: [
      ...x.marks,
      ...y.marks,
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
      // A curve breaks where a row has no y: no trial reached the goal there, or nobody knows.
      ...(dots ? [] : [Plot.line(rows, { x: "x", y: "y", z: curve, stroke: colour, strokeWidth: 1.6, clip: true })]),
      ...(panel.kind === "curves"
        ? []
        : [
            Plot.dot(placed, {
              x: "x",
              y: "y",
              r: dots ? 3 : 4,
              symbol: (row: Row) => symbolOf(series.indexOf(seriesOf(row))),
              fill: colour,
              stroke: "var(--raised)",
              strokeWidth: 0.7,
              clip: true,
            }),
          ]),
      Plot.tip(placed, Plot.pointer({ x: "x", y: "y", title: told(panel), ...TIP })),
    ],
  });
}

function told(panel: Panel) {
  return (row: Row) =>
    [
      seriesOf(row),
      `${panel.x.label || "x"} ${shortNumber(row["x"] as number)}`,
      `${panel.y.label || "y"} ${shortNumber(row["y"] as number)}`,
    ].join("\n");
}

function axis(of: FigureAxis, values: readonly number[], pixels: number, which: "x" | "y"): Axis {
  if (of.scale === "linear") return linearAxis(null, pixels, of.label, which);
  const domain = logDomain(values, 0.05);
  return of.scale === "log2" && which === "x" ? sizeAxis(domain, pixels, of.label) : logAxis(domain, pixels, of.label, which);
}
