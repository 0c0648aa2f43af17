/** A study: the curves of its trials, and where they lie in its search space. */

import * as Plot from "@observablehq/plot";
import type { Curves } from "../data/held";
import { shortNumber } from "../numbers";
import type { Axis, OpenStudy, StudyTrial } from "../study";
import { BASE, type Drawing, STRIP, TIP, linearAxis, logAxis, logDomain } from "./common";

interface Vertex {
  trial: StudyTrial;
  step: number;
  value: number;
  text: string;
}

const FOCUS = "var(--accent)";
const PINNED = "var(--series-1)";
const DIVERGED = "var(--diverged)";

export function curvesChart(study: OpenStudy, curves: Curves, pinned: number | null, width: number): Drawing {
  const vertices = verticesOf(study, curves);
  const x = logDomain(vertices.map((each) => each.step), 0.02);
  const [low, high] = logDomain(vertices.map((each) => each.value), 0.04);
  // Losses of trials that diverge reach far beyond what is of interest.
  const y: [number, number] = [Math.min(low, study.goal ?? low), Math.min(high, typical(vertices) * 1.6)];
  const isFirst = (each: Vertex) => each.trial.trial === study.winner?.trial_id;
  const isPinned = (each: Vertex) => each.trial.trial === pinned;
  const others = vertices.filter((each) => !isFirst(each) && !isPinned(each));
  const line = (rows: Vertex[], stroke: string, width: number, opacity: number) =>
    Plot.line(rows, { x: "step", y: "value", z: trialOf, stroke, strokeWidth: width, strokeOpacity: opacity, clip: true });
  const reached = study.trials.filter((each) => each.reached !== null);
  const goal = study.goal === null ? [] : [study.goal];
  const height = Math.max(230, Math.min(360, width * 0.6));
  const axes = { x: logAxis(x, width, "Step", "x"), y: logAxis(y, height, study.metricName, "y") };
  return Plot.plot({
    ...BASE,
    width,
    height,
    x: axes.x.scale,
    y: axes.y.scale,
    symbol: { type: "identity" },
    marks: [
      ...axes.x.marks,
      ...axes.y.marks,
      line(others.filter((each) => each.trial.status !== "INFEASIBLE"), "var(--quiet)", 1, 0.35),
      line(others.filter((each) => each.trial.status === "INFEASIBLE"), DIVERGED, 1, 0.45),
      Plot.ruleY(goal, { stroke: "var(--ink)", strokeDasharray: "5 4" }),
      Plot.text(goal, { y: (each: number) => each, text: () => "goal", frameAnchor: "left", textAnchor: "start", dy: -7, dx: 4, fill: "var(--ink)" }),
      line(vertices.filter(isFirst), FOCUS, 2.2, 1),
      line(vertices.filter(isPinned), PINNED, 2.2, 1),
      Plot.dot(
        reached.filter((each) => each.trial === study.winner?.trial_id || each.trial === pinned),
        {
          x: "reached",
          y: (each: StudyTrial) => vertices.find((at) => at.trial === each && at.step === each.reached)?.value ?? null,
          symbol: "star",
          r: 6,
          fill: (each: StudyTrial) => (each.trial === pinned ? PINNED : FOCUS),
          stroke: "var(--raised)",
        },
      ),
      Plot.line(vertices, Plot.pointer({ x: "step", y: "value", z: null, stroke: "none" })),
      Plot.tip(vertices, Plot.pointer({ x: "step", y: "value", title: "text", ...TIP })),
    ],
  }) as Drawing;
}

const trialOf = (each: Vertex) => each.trial.trial;

function verticesOf(study: OpenStudy, curves: Curves): Vertex[] {
  const trials = new Map(study.trials.map((each) => [each.trial, each]));
  const vertices: Vertex[] = [];
  for (let row = 0; row < curves.step.length; row++) {
    const trial = trials.get(curves.trial[row] as number);
    const [step, value] = [curves.step[row] as number, curves.value[row] as number];
    // A logarithmic axis has no room for step 0.
    if (trial === undefined || step === 0 || value <= 0) continue;
    vertices.push({ trial, step, value, text: `${trial.text}\nstep ${step.toLocaleString("en-US")}: ${shortNumber(value)}` });
  }
  return vertices;
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
  const at = (axis: Axis) => (each: StudyTrial) => axis.of(each);
  const rows = study.trials.filter((each) => x.of(each) !== null);
  const placed = rows.filter((each) => y.of(each) !== null);
  const above = rows.filter((each) => y.of(each) === null);
  const domain = (axis: Axis) => {
    const values = [...rows.map(axis.of).filter((each): each is number => each !== null), ...axis.borders];
    if (axis.scale === "log") return logDomain(values, 0.05);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const margin = (high - low || Math.abs(high) || 1) * 0.05;
    return [low - margin, high + margin] as [number, number];
  };
  const height = Math.max(230, Math.min(360, width * 0.6));
  const axes = { x: scaleOf(x, domain(x), width, "x"), y: scaleOf(y, domain(y), height, "y") };
  const options = {
    x: at(x),
    symbol: (each: StudyTrial) => (each.status === "INFEASIBLE" ? "times" : "circle") as Plot.SymbolType,
    r: (each: StudyTrial) => (each.trial === pinned ? 6 : 4),
    fill: (each: StudyTrial) => (each.reached === null ? "none" : FOCUS),
    stroke: strokeOf(pinned),
    strokeWidth: 1.5,
  };
  return Plot.plot({
    ...BASE,
    width,
    height,
    x: axes.x.scale,
    y: axes.y.scale,
    color: { type: "identity" },
    symbol: { type: "identity" },
    r: { type: "identity" },
    marks: [
      ...axes.x.marks,
      ...axes.y.marks,
      Plot.ruleX(x.borders, { stroke: "var(--ink)", strokeOpacity: 0.5, strokeDasharray: "2 3" }),
      Plot.ruleY(y.borders, { stroke: "var(--ink)", strokeOpacity: 0.5, strokeDasharray: "2 3" }),
      Plot.dot(placed, { ...options, y: at(y) }),
      Plot.dot(above, { ...options, frameAnchor: "top", dy: STRIP }),
      Plot.dot(
        placed.filter((each) => each.trial === study.winner?.trial_id),
        { x: at(x), y: at(y), symbol: "star", r: 9, fill: "var(--star)", stroke: "var(--ink)" },
      ),
      Plot.tip(rows, Plot.pointer({ x: at(x), y: (each: StudyTrial) => y.of(each) ?? domain(y)[1], title: "text", ...TIP })),
    ],
  }) as Drawing;
}

function scaleOf(axis: Axis, domain: [number, number], pixels: number, which: "x" | "y") {
  return axis.scale === "log" ? logAxis(domain, pixels, axis.label, which) : linearAxis(domain, pixels, axis.label, which);
}

function strokeOf(pinned: number | null) {
  return (each: StudyTrial) => {
    if (each.trial === pinned) return PINNED;
    if (each.status === "INFEASIBLE") return DIVERGED;
    return each.reached === null ? "var(--quiet)" : FOCUS;
  };
}
