/** Steps to result against batch size, and below them the critical batch sizes. */

import * as Plot from "@observablehq/plot";
import type { Curve } from "../curves";
import { shortNumber } from "../numbers";
import { BASE, type Drawing, STRIP, TIP, colourOf, logAxis, logDomain, sizeAxis, symbolOf } from "./common";

/** A point of a curve as it is drawn; y is divided where steps are relative. */
export interface Point {
  curve: Curve;
  batchSize: number;
  y: number | null;
  low: number;
  high: number;
  text: string;
}

interface Smooth {
  x: number;
  y: number;
  z: string;
  colour: string;
}

const ABOVE = 0.04;

export function pointsOf(curves: readonly Curve[]): Point[] {
  return curves.flatMap((curve) =>
    curve.steps.map((row) => {
      const { steps, low, high } = row;
      const y = steps === null ? null : steps / curve.divisor;
      return {
        curve,
        batchSize: row.batch_size,
        y,
        low: (low ?? steps ?? Number.NaN) / curve.divisor,
        high: (high ?? Number.POSITIVE_INFINITY) / curve.divisor,
        text: told(curve, row),
      };
    }),
  );
}

function told(curve: Curve, row: Curve["steps"][number]): string {
  const { steps, after, low, high, trials } = row;
  const lines = [curve.label, `batch size ${row.batch_size.toLocaleString("en-US")}`];
  if (steps === null) lines.push(after > 0 ? `not reached after ${after.toLocaleString("en-US")} steps` : "not reached");
  else lines.push(`${steps.toLocaleString("en-US")} steps, more than ${after.toLocaleString("en-US")}`);
  if (trials !== null && (low !== null || high !== null)) {
    const ends = [low === null ? "" : `from ${shortNumber(low)}`, high === null ? "" : `to ${shortNumber(high)}`];
    lines.push(`95% ${ends.filter(Boolean).join(" ")}`);
  }
  if (trials !== null) lines.push(`best of ${trials} trials`);
  const winner = curve.winners.get(row.batch_size);
  if (winner?.learning_rate != null) lines.push(`fastest: learning rate ${shortNumber(winner.learning_rate)}`);
  return lines.join("\n");
}

export function stepsChart(curves: readonly Curve[], width: number, relative: boolean): Drawing {
  const points = pointsOf(curves);
  const reached = points.filter((each) => each.y !== null);
  const missed = points.filter((each) => each.y === null);
  const x = logDomain(points.map((each) => each.batchSize), ABOVE);
  const y = logDomain(
    reached.flatMap((each) => [each.y as number, each.low, Math.min(each.high, (each.y as number) * 8)]),
    0.06,
  );
  const lines = curves.flatMap((curve) => perfectLine(curve, y));
  const fitted = curves.flatMap((curve) => fittedCurve(curve, y));
  const height = Math.max(260, Math.min(600, width * 0.62));
  const axes = { x: sizeAxis(x, width), y: logAxis(y, height, relative ? "Steps, relative" : "Steps to result", "y") };
  return Plot.plot({
    ...BASE,
    width,
    height,
    x: axes.x.scale,
    y: axes.y.scale,
    marks: [
      ...axes.x.marks,
      ...axes.y.marks,
      ...curves.map((curve) =>
        Plot.areaY(
          // Where trials are too few to bound the steps from above, an open line says so.
          reached.filter((each) => each.curve === curve && Number.isFinite(each.high)),
          {
            x: "batchSize",
            y1: "low",
            y2: "high",
            fill: colourOf(curve.index),
            fillOpacity: 0.13,
            clip: true,
          },
        ),
      ),
      Plot.line(lines, { x: "x", y: "y", z: "z", stroke: "colour", strokeDasharray: "5 4", strokeOpacity: 0.65, clip: true }),
      Plot.line(fitted, { x: "x", y: "y", z: "z", stroke: "colour", strokeOpacity: 0.5, strokeWidth: 1, clip: true }),
      Plot.ruleX(reached, {
        x: "batchSize",
        y1: (each: Point) => Math.max(each.low, y[0]),
        y2: (each: Point) => Math.min(each.high, y[1]),
        stroke: (each: Point) => colourOf(each.curve.index),
        strokeOpacity: 0.55,
        strokeDasharray: "4 2",
      }),
      Plot.line(reached, {
        x: "batchSize",
        y: "y",
        z: (each: Point) => each.curve.key,
        stroke: (each: Point) => colourOf(each.curve.index),
        strokeWidth: 2,
      }),
      Plot.dot(reached, {
        x: "batchSize",
        y: "y",
        symbol: (each: Point) => symbolOf(each.curve.index),
        fill: (each: Point) => colourOf(each.curve.index),
        stroke: "var(--raised)",
        strokeWidth: 1,
        r: 5,
      }),
      Plot.dot(missed, {
        x: "batchSize",
        frameAnchor: "top",
        dy: STRIP,
        symbol: "times",
        r: 4,
        strokeWidth: 1.8,
        stroke: (each: Point) => colourOf(each.curve.index),
      }),
      Plot.tip(
        points,
        Plot.pointer({ x: "batchSize", y: (each: Point) => each.y ?? y[1], title: "text", ...TIP }),
      ),
    ],
    symbol: { type: "identity" },
    color: { type: "identity" },
  }) as Drawing;
}

function perfectLine(curve: Curve, y: [number, number]): Smooth[] {
  if (curve.perfect === null) return [];
  const sizes = curve.steps.map((row) => row.batch_size);
  const [first, last] = [Math.min(...sizes), Math.max(...sizes)];
  const at = (size: number) => (curve.perfect as number) / size / curve.divisor;
  // A line that runs on far below what was measured would say nothing more.
  const end = Math.min(last, (curve.perfect as number) / curve.divisor / y[0]);
  return [first, Math.max(first, end)].map((x) => ({ x, y: at(x), z: curve.key, colour: colourOf(curve.index) }));
}

function fittedCurve(curve: Curve, y: [number, number]): Smooth[] {
  const { fitted } = curve;
  if (fitted === null) return [];
  const sizes = curve.steps.filter((row) => row.steps !== null).map((row) => row.batch_size);
  const [first, last] = [Math.min(...sizes), Math.max(...sizes)];
  return Array.from({ length: 65 }, (_, index) => {
    const x = first * (last / first) ** (index / 64);
    return { x, y: fitted(x) / curve.divisor, z: curve.key, colour: colourOf(curve.index) };
  }).filter((each) => each.y <= y[1]);
}

/** A critical batch size with its interval, a row a curve. */
export interface Critical {
  curve: Curve;
  value: number | null;
  low: number | null;
  high: number | null;
  text: string;
}

export function criticalChart(criticals: readonly Critical[], sizes: readonly number[], width: number): Drawing {
  const x = logDomain(sizes, ABOVE);
  const inside = (value: number | null, open: number) => Math.min(Math.max(value ?? open, x[0]), x[1]);
  const label = (each: Critical) => each.curve.key;
  const axis = sizeAxis(x, width, "Critical batch size");
  return Plot.plot({
    ...BASE,
    width,
    height: 52 + 22 * criticals.length,
    marginTop: 8,
    marginBottom: 44,
    x: axis.scale,
    y: { type: "band", axis: null, domain: criticals.map(label) },
    color: { type: "identity" },
    symbol: { type: "identity" },
    marks: [
      ...axis.marks,
      Plot.ruleY(
        criticals.filter((each) => each.low !== null || each.high !== null),
        {
          y: label,
          x1: (each: Critical) => inside(each.low, x[0]),
          x2: (each: Critical) => inside(each.high, x[1]),
          stroke: (each: Critical) => colourOf(each.curve.index),
          strokeWidth: 5,
          strokeOpacity: 0.35,
        },
      ),
      Plot.dot(
        criticals.filter((each) => each.value !== null),
        {
          x: "value",
          y: label,
          r: 5,
          fill: (each: Critical) => colourOf(each.curve.index),
          symbol: (each: Critical) => symbolOf(each.curve.index),
          stroke: "var(--raised)",
        },
      ),
      Plot.tip(
        criticals.filter((each) => each.value !== null),
        Plot.pointerY({ x: "value", y: label, title: "text", ...TIP }),
      ),
    ],
  }) as Drawing;
}
