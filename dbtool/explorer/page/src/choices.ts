/** What the controls offer for the workloads that are drawn. */

import { isMaximized } from "./analysis/goal";
import { goalsOf } from "./data/evaluations";
import type { Drawn } from "./data/held";
import type { OwnCurve } from "./data/own";
import { metricOf } from "./facts";
import type { State } from "./state";

export interface Choices {
  /** Metrics that any of the workloads has values of. */
  metrics: string[];
  /** The goal that all of them have of their own; null where they differ or have none. */
  ownGoal: number | null;
  /** Goals from the hardest that was reached to what untrained networks have; null without values. */
  goals: { low: number; high: number } | null;
  /** The most trials that any study has. */
  mostTrials: number;
}

export function choicesOf(state: State, drawn: readonly Drawn[], own: readonly OwnCurve[]): Choices {
  const workloads = drawn.map((each) => each.workload);
  const metrics = [...new Set(workloads.flatMap((each) => each.metrics.map((one) => one.metric)))].sort(byName);
  const asked = only([...workloads.map((each) => metricOf(each, state.metric)), ...own.flatMap((each) => each.metric ?? [])]);
  const isOwn = state.metric === null || workloads.every((each) => each.metric === state.metric);
  const ranges = [
    ...drawn.map((each) => each.passing?.goals),
    ...own.map((each) => each.evaluations && goalsOf(each.evaluations, isMaximized(each.metric ?? asked ?? ""))),
  ].flatMap((each) => each ?? []);
  return {
    metrics,
    ownGoal: isOwn ? only(workloads.map((each) => each.goal)) : null,
    goals: widest(ranges),
    mostTrials: Math.max(0, ...workloads.flatMap((each) => each.studies.map((study) => study.trials))),
  };
}

const SPLITS = ["val", "train", "test"];
const byName = (a: string, b: string) => rank(a) - rank(b) || a.localeCompare(b);
const rank = (metric: string) => SPLITS.indexOf(metric.split("_")[0] ?? "");

function only<T>(values: readonly T[]): T | null {
  const [first] = values;
  return first !== undefined && values.every((each) => each === first) ? first : null;
}

/** The goals of all of them. */
function widest(found: readonly { low: number; high: number }[]): { low: number; high: number } | null {
  if (found.length === 0) return null;
  const low = Math.min(...found.map((each) => each.low));
  const high = Math.max(...found.map((each) => each.high));
  return low < high ? { low, high } : { low: low / 2, high: high * 2 };
}
