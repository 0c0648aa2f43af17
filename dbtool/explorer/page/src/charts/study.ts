/** A study: the curves of its trials, and where they lie in its search space. */

import * as Plot from "@observablehq/plot";
import type { Curves } from "../data/held";
import { shortNumber } from "../numbers";
import type { Axis, OpenStudy, StudyTrial } from "../study";
import { type Drawing, STRIP, chartOf, heightOf, linearAxis, logAxis, logDomain, tip } from "./common";

interface Vertex {
  trial: StudyTrial;
  step: number;
  value: number;
  text: string;
}

const FOCUS = "var(--accent)";
const PINNED = "var(--pinned)";
const DIVERGED = "var(--diverged)";

export function curvesChart(study: OpenStudy, curves: Curves, pinned: number | null, width: number): Drawing {
  const vertices = verticesOf(study, curves);
  const x = logDomain(vertices.map((each) => each.step), 0.02);
  const [low, high] = logDomain(vertices.map((each) => each.value), 0.04);
  // Losses of trials that diverge reach far beyond what is of interest.
  const y: [number, number] = [Math.min(low, study.goal ?? low), Math.min(high, typical(vertices) * 1.6)];
  const isFirst = (each: StudyTrial) => each.trial === study.winner?.trial_id;
  const isPinned = (each: StudyTrial) => each.trial === pinned;
  const line = (isDrawn: (each: StudyTrial) => boolean, stroke: string, strokeWidth: number, strokeOpacity: number) =>
    Plot.line(
      vertices.filter((each) => isDrawn(each.trial)),
      { x: "step", y: "value", z: (each: Vertex) => each.trial.trial, stroke, strokeWidth, strokeOpacity, clip: true },
    );
  const isOther = (each: StudyTrial) => !isFirst(each) && !isPinned(each);
  const ends = vertices.filter((each) => !isOther(each.trial) && each.step === each.trial.reached);
  const goal = study.goal === null ? [] : [study.goal];
  const height = heightOf(width, 0.6, 230, 360);
  return chartOf(width, height, logAxis(x, width, "Step", "x"), logAxis(y, height, study.metricName, "y"), [
    line((each) => isOther(each) && each.status !== "INFEASIBLE", "var(--quiet)", 1, 0.35),
    line((each) => isOther(each) && each.status === "INFEASIBLE", DIVERGED, 1, 0.45),
    Plot.ruleY(goal, { stroke: "var(--ink)", strokeDasharray: "5 4" }),
    Plot.text(goal, { y: (each: number) => each, text: () => "goal", frameAnchor: "left", textAnchor: "start", dy: -7, dx: 4, fill: "var(--ink)" }),
    line(isFirst, FOCUS, 2.2, 1),
    line(isPinned, PINNED, 2.2, 1),
    Plot.dot(ends, {
      x: "step",
      y: "value",
      symbol: "star",
      r: 6,
      fill: (each: Vertex) => (isPinned(each.trial) ? PINNED : FOCUS),
      stroke: "var(--raised)",
    }),
    Plot.line(vertices, Plot.pointer({ x: "step", y: "value", z: null, stroke: "none" })),
    Plot.tip(vertices, Plot.pointer({ x: "step", y: "value", title: "text", ...tip(width) })),
  ]);
}

function verticesOf(study: OpenStudy, curves: Curves): Vertex[] {
  const trials = new Map(study.trials.map((each) => [each.trial, each]));
  return curves.rows.flatMap(({ trial_id, step, value }) => {
    const trial = trials.get(trial_id);
    // A logarithmic axis has no room for step 0.
    if (trial === undefined || step === 0 || value <= 0) return [];
    return [{ trial, step, value, text: `${trial.text}\nstep ${step.toLocaleString("en-US")}: ${shortNumber(value)}` }];
  });
}

/** The largest of the first values of trials that did not diverge, but for the largest tenth. */
function typical(vertices: readonly Vertex[]): number {
  const firsts = new Map<number, number>();
  for (const each of vertices) {
    if (each.trial.status !== "INFEASIBLE" && !firsts.has(each.trial.trial) && !Number.isNaN(each.value)) firsts.set(each.trial.trial, each.value);
  }
  const sorted = [...firsts.values()].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.9)] ?? Number.POSITIVE_INFINITY;
}

export function spaceChart(study: OpenStudy, x: Axis, y: Axis, pinned: number | null, width: number): Drawing {
  const rows = study.trials.filter((each) => x.of(each) !== null);
  const placed = rows.filter((each) => y.of(each) !== null);
  const above = rows.filter((each) => y.of(each) === null);
  const height = heightOf(width, 0.6, 230, 360);
  const borders = { stroke: "var(--ink)", strokeOpacity: 0.5, strokeDasharray: "2 3" };
  const options = {
    x: x.of,
    symbol: (each: StudyTrial) => (each.status === "INFEASIBLE" ? "times" : "circle") as Plot.SymbolType,
    r: (each: StudyTrial) => (each.trial === pinned ? 6 : 4),
    fill: (each: StudyTrial) => (each.reached === null ? "none" : FOCUS),
    stroke: (each: StudyTrial) => strokeOf(each, pinned),
    strokeWidth: 1.5,
  };
  const [, top] = domainOf(y, rows);
  return chartOf(width, height, scaleOf(x, rows, width, "x"), scaleOf(y, rows, height, "y"), [
    Plot.ruleX(x.borders, borders),
    Plot.ruleY(y.borders, borders),
    Plot.dot(placed, { ...options, y: y.of }),
    Plot.dot(above, { ...options, frameAnchor: "top", dy: STRIP }),
    Plot.dot(
      placed.filter((each) => each.trial === study.winner?.trial_id),
      { x: x.of, y: y.of, symbol: "star", r: 9, fill: "var(--star)", stroke: "var(--ink)" },
    ),
    Plot.tip(rows, Plot.pointer({ x: x.of, y: (each: StudyTrial) => y.of(each) ?? top, title: "text", ...tip(width) })),
  ]);
}

function domainOf(axis: Axis, rows: readonly StudyTrial[]): [low: number, high: number] {
  const values = [...rows.map(axis.of).filter((each) => each !== null), ...axis.borders];
  if (axis.scale === "log") return logDomain(values, 0.05);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low || Math.abs(high) || 1) * 0.05;
  return [low - margin, high + margin];
}

function scaleOf(axis: Axis, rows: readonly StudyTrial[], pixels: number, which: "x" | "y") {
  const domain = domainOf(axis, rows);
  return axis.scale === "log" ? logAxis(domain, pixels, axis.label, which) : linearAxis(domain, pixels, axis.label);
}

function strokeOf(trial: StudyTrial, pinned: number | null): string {
  if (trial.trial === pinned) return PINNED;
  if (trial.status === "INFEASIBLE") return DIVERGED;
  return trial.reached === null ? "var(--quiet)" : FOCUS;
}
