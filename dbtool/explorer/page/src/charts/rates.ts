/** The best learning rates against batch size, with the laws that were fitted to them. */

import * as Plot from "@observablehq/plot";
import type { LearningRateRow } from "../analysis/scaling";
import type { Curve } from "../curves";
import { shortNumber } from "../numbers";
import { type Drawing, chartOf, colour, dots, heightOf, logAxis, logDomain, openEnds, sizeAxis, tip } from "./common";

interface Rate extends LearningRateRow {
  curve: Curve;
  text: string;
}

export function ratesChart(curves: readonly Curve[], width: number): Drawing {
  const rates: Rate[] = curves.flatMap((curve) => curve.rates.map((row) => ({ ...row, curve, text: told(curve, row) })));
  const x = logDomain(curves.flatMap((curve) => curve.steps.map((row) => row.batch_size)), 0.04);
  const y = logDomain(rates.flatMap((each) => [each.best, each.low ?? each.best, each.high ?? each.best]), 0.06);
  const height = heightOf(width, 0.5, 220, 380);
  return chartOf(width, height, sizeAxis(x, width), logAxis(y, height, "Learning rate", "y"), [
    Plot.ruleX(rates, {
      x: "batch_size",
      y1: (each: Rate) => each.low ?? each.best,
      y2: (each: Rate) => each.high ?? each.best,
      stroke: colour,
      strokeWidth: 5,
      strokeOpacity: 0.5,
    }),
    openEnds(rates.filter((each) => each.high === null), "batch_size", "best", "up"),
    openEnds(rates.filter((each) => each.low === null), "batch_size", "best", "down"),
    Plot.line(
      rates.filter((each) => each.fitted !== null),
      { x: "batch_size", y: "fitted", z: (each: Rate) => each.curve.key, stroke: colour, strokeWidth: 1.5, clip: true },
    ),
    Plot.dot(rates, { x: "batch_size", y: "best", ...dots }),
    Plot.tip(rates, Plot.pointer({ x: "batch_size", y: "best", title: "text", ...tip(width) })),
  ]);
}

function told(curve: Curve, row: LearningRateRow): string {
  const low = row.low === null ? "the border of what was searched" : shortNumber(row.low);
  const high = row.high === null ? "the border of what was searched" : shortNumber(row.high);
  const lines = [
    curve.label,
    `batch size ${row.batch_size.toLocaleString("en-US")}`,
    `fastest trial ${shortNumber(row.best)}`,
    `${row.trials} nearly as fast: ${low} to ${high}`,
  ];
  if (row.fitted !== null) lines.push(`${row.law} law ${shortNumber(row.fitted)}`);
  return lines.join("\n");
}
