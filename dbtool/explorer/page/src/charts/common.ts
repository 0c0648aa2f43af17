/** What all charts share: how axes look, and the letters on them. */

import * as Plot from "@observablehq/plot";
import { range, ticks } from "d3-array";
import { type SymbolType, symbolTimes } from "d3-shape";
import { facts, type Named } from "../facts";

/** Markers by Matplotlib's letters; a cross for what has no area. */
export const symbolOf = (marker: string): SymbolType => SYMBOLS.get(marker) ?? symbolTimes;
const SYMBOLS = new Map(
  Object.entries(facts.looks.markers).map(([name, polygons]): [string, SymbolType] => {
    const draw: SymbolType["draw"] = (context, area) => {
      const size = 2 * Math.sqrt(area / Math.PI);
      for (const [[x, y], ...rest] of polygons as [[number, number], ...[number, number][]][]) {
        context.moveTo(size * x, -size * y);
        for (const [across, up] of rest) context.lineTo(size * across, -size * up);
        context.closePath();
      }
    };
    return [name, { draw }];
  }),
);

/** How series look: those whose names have a colour in every figure in this one, the others in turn. */
export function looksOf(labels: readonly string[]): Named[] {
  const { colours, others, markers } = facts.looks;
  const own = labels.map((label) => colours[label]);
  const free = others.filter((each) => !own.includes(each));
  const left = labels.filter((label) => !colours[label]);
  const [from, letters] = [free.length ? free : others, Object.keys(markers)];
  return labels.map((label, place) => ({
    label,
    colour: own[place] ?? (from[left.indexOf(label) % from.length] as string),
    marker: letters[place % letters.length] as string,
  }));
}

interface OfCurve {
  curve: Named;
}

/** How the points of a curve look. */
export const colour = (each: OfCurve) => each.curve.colour;
export const dots = { symbol: (each: OfCurve) => symbolOf(each.curve.marker), fill: colour, stroke: "var(--raised)", r: 4.5 };

export type Drawing = (SVGSVGElement | HTMLElement) & Plot.Plot;

/** Margins in pixels: left, where ticks such as 100,000 stand, and both. */
export const LEFT = 62;
const BESIDE = LEFT + 16;

/** Batch sizes are known by all their digits. */
function tick(value: number): string {
  if (value >= 1e6 && value % 1e5 === 0) return `${value / 1e6}M`;
  if (value >= 1e-3 || value === 0) return value.toLocaleString("en-US", { maximumSignificantDigits: value < 1e4 ? 4 : 9 });
  const [digits = "", power = ""] = value.toExponential(2).split("e");
  const factor = Number(digits) === 1 ? "" : `${Number(digits)}·`;
  return `${factor}10${power.replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] as string)}`;
}

/** Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where there is room. */
function logTicks([low, high]: readonly [number, number], most: number): number[] {
  const powers = range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1);
  const ticksOf = (digits: number[], every: number) =>
    powers.flatMap((power) => (power % every ? [] : digits.map((digit) => Number(`${digit}e${power}`)))).filter((each) => low <= each && each <= high);
  const found = [ticksOf([1, 2, 5], 1), ticksOf([1, 3], 1), ...[1, 2, 4, 8].map((every) => ticksOf([1], every))].find((each) => each.length <= most);
  return found && found.length > 1 ? found : ticks(low, high, 3);
}

export function logAxis(domain: [number, number], pixels: number, label: string, which: "x" | "y"): Plot.ScaleOptions {
  return { type: "log", domain, label, grid: true, ticks: logTicks(domain, which === "x" ? (pixels - BESIDE) / 52 : pixels / 34) };
}

/** An axis of batch sizes, which are mostly powers of two. */
export function sizeAxis(domain: [number, number], pixels: number, label = "Batch size"): Plot.ScaleOptions {
  const powers = range(Math.ceil(Math.log2(domain[0]) - 1e-9), Math.log2(domain[1]) + 1e-9);
  const every = Math.ceil((powers.length * 52) / (pixels - BESIDE));
  const sizes = powers.filter((_, index) => index % every === 0).map((power) => 2 ** power);
  return { type: "log", base: 2, domain, label, grid: true, ticks: sizes };
}

export function linearAxis(domain: [number, number] | null, pixels: number, label: string): Plot.ScaleOptions {
  return { ...(domain && { domain }), label, grid: true, ticks: Math.max(2, Math.round(pixels / 80)) };
}

/** Ends of a logarithmic axis, a little beyond what is drawn. */
export function logDomain(values: Iterable<number>, margin: number): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, 0];
  for (const value of values) {
    if (value > 0 && Number.isFinite(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (high === 0) return [1, 10];
  if (low === high) return [low / 2, high * 2];
  const factor = (high / low) ** margin;
  return [low / factor, high * factor];
}

/** How tips look; each fits into half of a chart that is so wide, so that a side of the point has room for it. */
export const tip = (width: number) => ({ ariaHidden: "true", fill: "var(--raised)", stroke: "var(--line)", fontSize: 12, lineHeight: 1.35, lineWidth: Math.min(20, width / 28 - 2) });

/** How far above the axes those stand that did not reach the goal; the axis's name is above them. */
export const STRIP = -11;

const BASE: Plot.PlotOptions = {
  color: { type: "identity" },
  symbol: { type: "identity" },
  r: { type: "identity" },
  marginLeft: LEFT,
  marginRight: BESIDE - LEFT,
  marginTop: 40,
  marginBottom: 40,
  style: { background: "none", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
};

/** A chart on two axes. */
export function chartOf(width: number, height: number, x: Plot.ScaleOptions, y: Plot.ScaleOptions, marks: Plot.Markish[], options?: Plot.PlotOptions): Drawing {
  // Of logarithmic scales Plot leaves out some labels of its own accord, unless they are given as text.
  const of = ({ ticks }: Plot.ScaleOptions) => [Array.isArray(ticks) ? ticks : undefined, { ticks, text: tick }] as const;
  const axes = [Plot.axisX(...of(x)), y.axis === null ? null : Plot.axisY(...of(y))];
  return Plot.plot({ ...BASE, width, height, x, y, marks: [...axes, ...marks], ...options }) as Drawing;
}

/** Short arrows from the points of an interval without end, up or down. */
export function openEnds<Row extends OfCurve>(points: readonly Row[], x: keyof Row, y: keyof Row, direction: "up" | "down"): Plot.Markish {
  return Plot.vector(points, {
    x: x as string,
    y: y as string,
    length: 14,
    r: 2.5,
    anchor: "start",
    rotate: direction === "up" ? 0 : 180,
    stroke: colour,
    strokeOpacity: 0.7,
  });
}

/** The height of a chart that is so wide: a share of it, between two bounds. */
export function heightOf(width: number, share: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, width * share));
}
