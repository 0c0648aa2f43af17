/** Steps to result against batch size, and below them the critical batch sizes. */

import * as Plot from "@observablehq/plot";
import type { Curve } from "../curves";
import { shortNumber } from "../numbers";
import { type Drawing, STRIP, chartOf, colour, dots, heightOf, logAxis, logDomain, openEnds, sizeAxis, tip } from "./common";

/** A point of a curve as it is drawn; y is divided where steps are relative. */
export interface Point {
  curve: Curve;
  batchSize: number;
  y: number | null;
  /** Where trials are too few to bound the steps, null. */
  low: number | null;
  high: number | null;
  text: string;
}

interface Vertex {
  curve: Curve;
  x: number;
  y: number;
}

const ABOVE = 0.04;

function pointsOf(curves: readonly Curve[]): Point[] {
  return curves.flatMap((curve) => {
    const divided = (steps: number | null) => (steps === null ? null : steps / curve.divisor);
    return curve.steps.map((row) => {
      const { steps, low, high } = row;
      return { curve, batchSize: row.batch_size, y: divided(steps), low: divided(low), high: divided(high), text: told(curve, row) };
    });
  });
}

function told(curve: Curve, row: Curve["steps"][number]): string {
  const { steps, after, low, high, trials } = row;
  const lines = [curve.label, `batch size ${row.batch_size.toLocaleString("en-US")}`];
  if (steps === null) lines.push(after > 0 ? `goal not reached after ${after.toLocaleString("en-US")} steps` : "goal not reached");
  else lines.push(`${steps.toLocaleString("en-US")} steps; goal missed at ${after.toLocaleString("en-US")}`);
  if (trials !== null && (low !== null || high !== null)) {
    const ends = [low === null ? "" : `at least ${shortNumber(low)}`, high === null ? "" : `at most ${shortNumber(high)}`];
    lines.push(`95%: ${ends.filter(Boolean).join(", ")}`);
  }
  if (trials !== null) lines.push(`best of ${trials} trials`);
  const winner = curve.studies.get(row.batch_size)?.winner;
  if (winner?.learning_rate != null) lines.push(`fastest: learning rate ${shortNumber(winner.learning_rate)}`);
  return lines.join("\n");
}

export function stepsChart(curves: readonly Curve[], width: number, relative: boolean): Drawing {
  const points = pointsOf(curves);
  const reached = points.filter((each) => each.y !== null);
  const missed = points.filter((each) => each.y === null);
  const x = logDomain(points.map((each) => each.batchSize), ABOVE);
  const y = logDomain(reached.flatMap(({ y: at, low, high }) => [at ?? 0, low ?? 0, Math.min(high ?? 0, (at ?? 0) * 8)]), 0.06);
  const lines = curves.flatMap((curve) => perfectLine(curve, y));
  const fitted = curves.flatMap((curve) => fittedCurve(curve, y));
  const height = heightOf(width, 0.62, 260, 600);
  // Numbers that no point has would only mislead.
  const steps = reached.length ? logAxis(y, height, relative ? "Steps, relative" : "Steps to result", "y") : ({ type: "log", domain: y, axis: null } as const);
  const smooth = { x: "x", y: "y", z: keyOf, stroke: colour, clip: true };
  return chartOf(width, height, sizeAxis(x, width), steps, [
    ...curves.map((curve) =>
      Plot.areaY(
        reached.filter((each) => each.curve === curve && each.high !== null),
        { x: "batchSize", y1: (each: Point) => each.low ?? each.y, y2: "high", fill: curve.colour, fillOpacity: 0.13, clip: true },
      ),
    ),
    Plot.line(lines, { ...smooth, strokeDasharray: "5 4", strokeOpacity: 0.8 }),
    Plot.line(fitted, { ...smooth, strokeOpacity: 0.8, strokeWidth: 1 }),
    openEnds(reached.filter((each) => each.high === null && each.curve.trials !== null), "batchSize", "y", "up"),
    Plot.line(reached, { x: "batchSize", y: "y", z: keyOf, stroke: colour, strokeWidth: 2 }),
    Plot.dot(reached, { x: "batchSize", y: "y", ...dots }),
    // Those of several curves stand beside each other.
    ...curves.map((curve, place) => {
      const dx = ((place + 0.5) / curves.length - 0.5) * Math.min(6 * curves.length, width / 24);
      return Plot.dot(missed.filter((each) => each.curve === curve), { x: "batchSize", frameAnchor: "top", dx, dy: STRIP, symbol: "times", r: 4, strokeWidth: 1.8, stroke: colour });
    }),
    Plot.tip(points, Plot.pointer({ x: "batchSize", y: (each: Point) => each.y ?? y[1], title: "text", ...tip(width) })),
  ]);
}

const keyOf = (each: { curve: Curve }) => each.curve.key;

function perfectLine(curve: Curve, y: [number, number]): Vertex[] {
  if (curve.perfect === null) return [];
  const examples = curve.perfect / curve.divisor;
  const sizes = curve.steps.map((row) => row.batch_size);
  const [first, last] = [Math.min(...sizes), Math.max(...sizes)];
  // A line that runs on far below what was measured would say nothing more.
  const end = Math.min(last, examples / y[0]);
  return [first, Math.max(first, end)].map((x) => ({ curve, x, y: examples / x }));
}

function fittedCurve(curve: Curve, y: [number, number]): Vertex[] {
  const { fitted } = curve;
  if (fitted === null) return [];
  const sizes = curve.steps.filter((row) => row.steps !== null).map((row) => row.batch_size);
  const [first, last] = [Math.min(...sizes), Math.max(...sizes)];
  return Array.from({ length: 65 }, (_, index) => {
    const x = first * (last / first) ** (index / 64);
    return { curve, x, y: fitted(x) / curve.divisor };
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
  const told = criticals.filter((each) => each.value !== null);
  const bounded = criticals.filter((each) => each.low !== null || each.high !== null);
  const rows = { type: "band", axis: null, domain: criticals.map(keyOf) } as const;
  const marks = [
    Plot.ruleY(bounded, {
      y: keyOf,
      x1: (each: Critical) => inside(each.low, x[0]),
      x2: (each: Critical) => inside(each.high, x[1]),
      stroke: colour,
      strokeWidth: 5,
      strokeOpacity: 0.7,
    }),
    Plot.dot(told, { x: "value", y: keyOf, ...dots }),
    Plot.tip(told, Plot.pointerY({ x: "value", y: keyOf, title: ({ curve, text }: Critical) => `${curve.label}\n${text}`, ...tip(width) })),
  ];
  const height = 52 + 22 * criticals.length;
  return chartOf(width, height, sizeAxis(x, width, "Critical batch size"), rows, marks, { marginTop: 8, marginBottom: 44 });
}
