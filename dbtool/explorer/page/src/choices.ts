/** What the controls offer for the workloads that are drawn. */

import type { Improvements } from "./data/held";
import { isMaximized, metricOf, type Workload } from "./facts";
import type { State } from "./state";

export interface Choices {
  /** Metrics that any of the workloads has values of. */
  metrics: string[];
  /** The metric that all of them are asked for; null where they differ. */
  metric: string | null;
  /** The goal that all of them have of their own; null where they differ or have none. */
  ownGoal: number | null;
  /** Goals from the hardest that was reached to what untrained networks have; null without values. */
  goals: { low: number; high: number } | null;
  /** The most trials that any study has. */
  mostTrials: number;
}

export function choicesOf(
  state: State,
  drawn: readonly { workload: Workload; improvements: Improvements | null }[],
): Choices {
  const workloads = drawn.map((each) => each.workload);
  const metrics = [...new Set(workloads.flatMap((each) => each.metrics.map((one) => one.metric)))].sort(byName);
  const asked = only(workloads.map((each) => metricOf(each, state.metric)));
  const isOwn = state.metric === null || workloads.every((each) => each.metric === state.metric);
  return {
    metrics,
    metric: asked,
    ownGoal: isOwn ? only(workloads.map((each) => each.goal)) : null,
    goals: goalsOf(drawn.flatMap((each) => (each.improvements ? [each.improvements] : [])), asked !== null && isMaximized(asked)),
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

/** From the best value of any trial to the middle one of the values that trials begin with, or the other way round. */
function goalsOf(found: readonly Improvements[], maximize: boolean): { low: number; high: number } | null {
  let best = maximize ? 0 : Number.POSITIVE_INFINITY;
  const firsts: number[] = [];
  for (const { value, trial_id, batch_size } of found) {
    for (let row = 0; row < value.length; row++) {
      const at = value[row] as number;
      // Of the closing rows the value is missing; a logarithmic slider has no room for 0.
      if (Number.isNaN(at) || at <= 0) continue;
      if (row === 0 || trial_id[row] !== trial_id[row - 1] || batch_size[row] !== batch_size[row - 1]) firsts.push(at);
      best = maximize ? Math.max(best, at) : Math.min(best, at);
    }
  }
  firsts.sort((a, b) => a - b);
  const start = firsts[Math.floor(firsts.length / 2)];
  if (start === undefined) return null;
  const [low, high] = maximize ? [start, best] : [best, start];
  return low < high ? { low, high } : { low: low / 2, high: high * 2 };
}
