/** What all charts share: how axes look, and the letters on them. */

import * as Plot from "@observablehq/plot";
import { type SymbolType, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTriangle, symbolWye } from "d3-shape";

/** How many series have a colour of their own; see page.css. */
const COLOURS = 8;
const SYMBOLS = [symbolCircle, symbolTriangle, symbolSquare, symbolDiamond, symbolStar, symbolWye, symbolCross];

export const colourOf = (index: number): string => `var(--series-${index % COLOURS})`;
export const symbolOf = (index: number) => SYMBOLS[index % SYMBOLS.length] as SymbolType;

interface OfCurve {
  curve: { index: number };
}

/** How the points of a curve look. */
export const colour = (each: OfCurve) => colourOf(each.curve.index);
export const dots = { symbol: (each: OfCurve) => symbolOf(each.curve.index), fill: colour, stroke: "var(--raised)", r: 5 };

export type Drawing = (SVGSVGElement | HTMLElement) & Plot.Plot;

/** 1,024 and 65,536 are read at a glance; from a million on the digits are too many. */
export function tick(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
  if (value >= 1e-3) return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
  const [digits = "", power = ""] = value.toExponential(2).split("e");
  const factor = Number(digits) === 1 ? "" : `${Number(digits)}·`;
  return value === 0 ? "0" : `${factor}10${power.replace("-", "⁻").replace(/\d/g, superscript)}`;
}

const superscript = (digit: string) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)] as string;

/** Powers of two along an axis of so many pixels. */
export function powersOfTwo(low: number, high: number, width: number): number[] {
  const [first, last] = [Math.ceil(Math.log2(low) - 1e-9), Math.floor(Math.log2(high) + 1e-9)];
  const step = Math.max(1, Math.ceil(((last - first + 1) * 52) / Math.max(width, 1)));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => 2 ** (first + index * step));
}

/** Ticks of a logarithmic axis of so many pixels: powers of ten, with 2 and 5 between them where there is room. */
export function logTicks([low, high]: readonly [number, number], pixels: number, room = 34): number[] {
  const decades = Math.log10(high / low);
  const most = Math.max(2, pixels / room);
  const digits = [[1, 2, 5], [1, 3], [1]].find((each) => each.length * decades <= most) ?? [1];
  const step = Math.max(1, Math.ceil(decades / most));
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % step === 0) ticks.push(...digits.map((digit) => Number(`${digit}e${power}`)));
  }
  const inside = ticks.filter((each) => each >= low && each <= high);
  // Of less than a decade two numbers at least.
  return inside.length > 1 ? inside : fineTicks(low, high);
}

function fineTicks(low: number, high: number): number[] {
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const factor = [5, 2, 1].find((each) => (high - low) / (each * step) >= 2) ?? 1;
  const first = Math.ceil(low / (factor * step));
  const last = Math.floor(high / (factor * step));
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * factor * step).toPrecision(12)));
}

/** A scale, with the marks of its axis and its grid. */
export interface Axis {
  scale: Plot.ScaleOptions;
  marks: Plot.Markish[];
}

export function logAxis(domain: [number, number], pixels: number, label: string, which: "x" | "y"): Axis {
  return axisOf({ type: "log", domain }, logTicks(domain, pixels, which === "x" ? 64 : 34), label, which);
}

/** An axis of batch sizes, which are mostly powers of two. */
export function sizeAxis(domain: [number, number], pixels: number, label = "Batch size"): Axis {
  return axisOf({ type: "log", base: 2, domain }, powersOfTwo(...domain, pixels), label, "x");
}

export function linearAxis(domain: [number, number] | null, pixels: number, label: string, which: "x" | "y"): Axis {
  const options = { label: named(label, which), labelAnchor: which === "x" ? "right" : "top", tickFormat: tick } as const;
  const scale = { ticks: Math.max(2, Math.round(pixels / 80)), ...options, ...(domain && { domain }) };
  return { scale, marks: [which === "x" ? Plot.gridX(GRID) : Plot.gridY(GRID)] };
}

const GRID = { stroke: "var(--line)", strokeOpacity: 0.8 };

/** Of logarithmic scales Plot leaves out some labels of its own accord, unless they are given as text. */
function axisOf(scale: Plot.ScaleOptions, ticks: number[], label: string, which: "x" | "y"): Axis {
  const options = { text: tick, label: named(label, which) };
  const marks =
    which === "x"
      ? [Plot.gridX(ticks, GRID), Plot.axisX(ticks, { ...options, labelAnchor: "right" })]
      : [Plot.gridY(ticks, GRID), Plot.axisY(ticks, { ...options, labelAnchor: "top" })];
  return { scale: { ...scale, axis: null }, marks };
}

function named(label: string, which: "x" | "y"): string {
  return which === "x" ? `${label} →` : `↑ ${label}`;
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

export const TIP = { ariaHidden: "true", fill: "var(--raised)", stroke: "var(--line)", fontSize: 12, lineHeight: 1.35 };

/** How far above the axes those stand that did not reach the goal; the axis's name is above them. */
export const STRIP = -11;

const BASE: Plot.PlotOptions = {
  color: { type: "identity" },
  symbol: { type: "identity" },
  r: { type: "identity" },
  marginLeft: 58,
  marginRight: 16,
  marginTop: 40,
  marginBottom: 40,
  style: { background: "none", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
};

/** A chart on two axes. */
export function chartOf(width: number, height: number, x: Axis, y: Axis, marks: Plot.Markish[], options?: Plot.PlotOptions): Drawing {
  return Plot.plot({
    ...BASE,
    width,
    height,
    x: x.scale,
    y: y.scale,
    marks: [...x.marks, ...y.marks, ...marks],
    ...options,
  }) as Drawing;
}

/** The height of a chart that is so wide: a share of it, between two bounds. */
export function heightOf(width: number, share: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, width * share));
}
