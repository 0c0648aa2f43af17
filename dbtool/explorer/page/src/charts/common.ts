/** What all charts share: how axes look, and the letters on them. */

import * as Plot from "@observablehq/plot";

/** How many series have a colour and a symbol of their own; see page.css. */
export const SERIES = 8;
export const SYMBOLS = ["circle", "triangle", "square", "diamond", "star", "wye", "cross", "hexagon"] as const;

export const colourOf = (index: number): string => `var(--series-${index % SERIES})`;
export const symbolOf = (index: number) => SYMBOLS[index % SYMBOLS.length] as Plot.SymbolType;

export type Drawing = (SVGSVGElement | HTMLElement) & Plot.Plot;

/** 1,024 and 65,536 are read at a glance; from a million on the digits are too many. */
export function tick(value: number): string {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(4))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(4))}k`;
  if (value >= 1e-3) return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
  return value.toExponential().replace("e", "·10^").replace("^-", "⁻").replace(/\d+$/, superscript);
}

function superscript(digits: string): string {
  return [...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");
}

/** Powers of two along an axis of so many pixels. */
export function powersOfTwo(low: number, high: number, width: number): number[] {
  const [first, last] = [Math.ceil(Math.log2(low) - 1e-9), Math.floor(Math.log2(high) + 1e-9)];
  const step = Math.max(1, Math.ceil(((last - first + 1) * 52) / Math.max(width, 1)));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => 2 ** (first + index * step));
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

export const TIP = { fill: "var(--raised)", stroke: "var(--line)", fontSize: 12, lineHeight: 1.35 };

export const BASE: Partial<Plot.PlotOptions> = {
  marginLeft: 58,
  marginRight: 16,
  marginTop: 26,
  marginBottom: 40,
  style: { background: "none", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
};

export const grid = (): Plot.Markish[] => [
  Plot.gridX({ stroke: "var(--line)", strokeOpacity: 0.7 }),
  Plot.gridY({ stroke: "var(--line)", strokeOpacity: 0.7 }),
];
