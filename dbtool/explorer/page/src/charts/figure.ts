/** A figure of `dbtool plot` from its points: a small chart for each panel. */

import * as Plot from "@observablehq/plot";
import type { Row } from "../csv";
import type { Figure, FigureAxis } from "../figures";
import { shortNumber } from "../numbers";
import { BASE, type Drawing, TIP, colourOf, grid, logDomain, powersOfTwo, symbolOf, tick } from "./common";

const NARROWEST = 300;
const DOTS = new Set(["scatter", "grid"]);

/** All panels as one element; the largest is as wide as there is room. */
export function figureChart(figure: Figure, width: number): Drawing {
  const panels = [...Map.groupBy(figure.rows, (row) => String(row["panel"] ?? ""))];
  const series = [...new Set(figure.rows.map(seriesOf))];
  const columns = Math.max(1, Math.min(3, panels.length, Math.floor(width / NARROWEST)));
  const each = Math.floor((width - (columns - 1) * 16) / columns);
  const all = document.createElement("div") as unknown as Drawing & HTMLElement;
  all.className = "panels";
  all.append(legend(series));
  for (const [panel, rows] of panels) {
    const holder = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = panel;
    holder.style.width = `${each}px`;
    holder.append(caption, panelChart(figure, rows, series, each));
    all.append(holder);
  }
  return all;
}

const seriesOf = (row: Row) => String(row["series"] ?? "");
const numberOf = (row: Row, name: string) => (typeof row[name] === "number" ? (row[name] as number) : null);

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

function panelChart(figure: Figure, rows: readonly Row[], series: readonly string[], width: number): Element {
  const placed = rows.filter((row) => numberOf(row, "x") !== null && numberOf(row, "y") !== null);
  const bands = placed.filter((row) => numberOf(row, "band_low") !== null || numberOf(row, "band_high") !== null);
  const lines = placed.filter((row) => (numberOf(row, "perfect") ?? 0) > 0);
  const colour = (row: Row) => colourOf(series.indexOf(seriesOf(row)));
  // A curve is a series of one release, or one trial of a study.
  const curve = (row: Row) => [row["release"], row["series"], figure.kind === "curves" ? row["trial_id"] : ""].join("\n");
  const height = Math.round(width * 0.72);
  const x = axis(figure.x, placed.map((row) => numberOf(row, "x") as number), width, "x");
  const y = axis(figure.y, placed.map((row) => numberOf(row, "y") as number), height, "y");
  const dots = DOTS.has(figure.kind);
  return Plot.plot({
    ...BASE,
    width,
    height,
    x,
    y,
    color: { type: "identity" },
    symbol: { type: "identity" },
    marks: [
      ...grid(),
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
      ...(dots ? [] : [Plot.line(placed, { x: "x", y: "y", z: curve, stroke: colour, strokeWidth: 1.6, clip: true })]),
      ...(figure.kind === "curves"
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
      Plot.tip(placed, Plot.pointer({ x: "x", y: "y", title: told(figure), ...TIP })),
    ],
  });
}

function told(figure: Figure) {
  return (row: Row) =>
    [
      seriesOf(row),
      `${figure.x.label || "x"} ${shortNumber(row["x"] as number)}`,
      `${figure.y.label || "y"} ${shortNumber(row["y"] as number)}`,
    ].join("\n");
}

function axis(of: FigureAxis, values: readonly number[], pixels: number, which: "x" | "y"): Plot.ScaleOptions {
  const label = which === "x" ? `${of.label} →` : `↑ ${of.label}`;
  const common = { label, labelAnchor: (which === "x" ? "right" : "top") as "right", tickFormat: tick };
  if (of.scale === "linear") return { ...common, ticks: Math.max(2, Math.round(pixels / 80)) };
  const domain = logDomain(values, 0.05);
  if (of.scale === "log2" && which === "x") return { ...common, type: "log", base: 2, domain, ticks: powersOfTwo(...domain, pixels) };
  return { ...common, type: "log", domain, ticks: Math.max(3, Math.round(pixels / 70)) };
}
