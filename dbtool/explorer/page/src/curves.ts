/** The curves that are drawn, with all that is told of them; from what was read and from the state. */

import { minIndex } from "d3-array";
import { crossingsOf, isMaximized } from "./analysis/goal";
import {
  type Answer,
  type CriticalRow,
  type LearningRateRow,
  type StepsRow,
  criticalRows,
  learningRateRows,
  scalingOfSearches,
  scalingOfSteps,
  stepsRows,
} from "./analysis/scaling";
import { type Crossing, type Search, type StudyTrials, searchOf, withErrors } from "./analysis/searches";
import type { Drawn } from "./data/held";
import { type OwnCurve, stepsOfOwn } from "./data/own";
import { keyOf, metricOf, type Named, type Workload } from "./facts";
import type { State } from "./state";

/** The trial of a study that took the fewest steps. */
export interface Fewest {
  trial_id: number;
  steps: number;
  learning_rate: number | null;
  momentum: number | null;
}

/** When each trial of a study passed the goal. */
export interface Passed {
  trial: ArrayLike<number>;
  steps: Float64Array;
  winner: Fewest | null;
}

export interface Curve extends Named {
  key: string;
  /** null for a curve of the person's own. */
  workload: Workload | null;
  metric: string;
  goal: number | null;
  /** At how many trials its searches are compared; null where it has none. */
  trials: number | null;
  /** Whether its studies are no searches, but replicates of one setting each. */
  oneSetting: boolean;
  leftOut: readonly number[];
  steps: StepsRow[];
  criticals: CriticalRow[];
  rates: LearningRateRow[];
  /** By batch size. */
  studies: ReadonlyMap<number, Passed>;
  /** Steps on the line of perfect scaling are this, divided by the batch size. */
  perfect: number | null;
  /** Steps that a batch size needs by the curve that was fitted. */
  fitted: ((batchSize: number) => number) | null;
  /** What steps are divided by, and the batch size at which the curve has as many. */
  divisor: number;
  dividedAt: number | null;
}

export function curveOfWorkload(drawn: Drawn, state: State, named: Named): Curve {
  const { workload, passing } = drawn;
  const metric = metricOf(workload, state.metric) ?? "";
  const goal = state.goal ?? (metric === workload.metric ? workload.goal : null);
  const base = { ...UNKNOWN, key: keyOf(workload), ...named, workload, metric, goal, divisor: 1, dividedAt: null };
  if (!passing || goal === null || passing.studies.length === 0) return base;
  const { studies, evaluations } = passing;
  const rules = { maximize: isMaximized(metric), inclusive: workload.goal_inclusive };
  const crossings = crossingsOf(studies, evaluations, goal, rules);
  const searches = withErrors(studies.map((study, place) => searchOf(study, crossings[place] as Crossing)));
  const scaling = scalingOfSearches(searches, state.trials);
  const answer = { release: workload.release, workload: workload.workload, metric, goal, scaling, searches };
  return {
    ...base,
    ...answered(answer, state),
    rates: learningRateRows(answer),
    studies: new Map(studies.map((study, place) => [study.batchSize, passedOf(study, crossings[place] as Crossing, searches[place]!)])),
  };
}

export function curveOfOwn(own: OwnCurve, metric: string, goal: number | null, state: State, named: Named): Curve {
  const base = { ...UNKNOWN, key: `own:${own.label}`, ...named, workload: null, metric, goal, divisor: 1, dividedAt: null };
  const steps = stepsOfOwn(own, goal, isMaximized(metric));
  if (steps.length === 0) return base;
  // Steps alone are those to a goal that nobody tells.
  const asked = own.steps ? { metric: null, goal: null } : { metric, goal };
  const answer = { release: null, workload: own.label, ...asked, scaling: scalingOfSteps(steps), searches: [] };
  return { ...base, ...answered(answer, state) };
}

/** Of which nothing is known. */
const UNKNOWN = { trials: null, oneSetting: false, leftOut: [], steps: [], criticals: [], rates: [], studies: new Map(), perfect: null, fitted: null };

/** What of an answer is drawn and told. */
function answered(answer: Answer, state: State): Pick<Curve, "trials" | "oneSetting" | "leftOut" | "steps" | "criticals" | "perfect" | "fitted"> {
  const { trials, leftOut, curve } = answer.scaling;
  const steps = stepsRows(answer);
  const first = steps.find((row) => row.steps !== null);
  const throughFirst = first ? first.batch_size * first.steps! : null;
  const perfect = { none: null, first: throughFirst, fit: curve && curve.fewestExamples }[state.line];
  const fitted = curve ? (batchSize: number) => curve.at(batchSize) : null;
  const oneSetting = answer.searches.length > 0 && answer.searches.every((search) => search.replicates !== null);
  return { trials, oneSetting, leftOut, steps, criticals: criticalRows(answer), perfect, fitted };
}

/**
 * Its winner is the trial that counts with the fewest steps, of equal ones the first; of replicates the middle one of the
 * setting with the fewest. See the macro study_steps.
 */
function passedOf(study: StudyTrials, { steps }: Crossing, search: Search): Passed {
  const best = minIndex(search.steps);
  const setting = search.settings[best];
  const order = setting && [...setting.steps.keys()].sort((a, b) => setting.steps[a]! - setting.steps[b]! || a - b);
  const [of, at] = setting && order ? [setting.study, order[(order.length - 1) >> 1]!] : [search.study, best];
  const winner = {
    trial_id: of.trialId[at] as number,
    steps: search.steps[best] as number,
    learning_rate: known(of.learningRate[at]),
    momentum: known(of.momentum[at]),
  };
  return { trial: study.trialId, steps, winner: Number.isFinite(winner.steps) ? winner : null };
}

const known = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? null : value);

/** Divides the steps of all curves by each one's own at one batch size: that at which most of them reached the goal, of
 * several that of the curves with most points, else the smallest; see the macro normalised. Curves without that one go. */
export function relative(curves: readonly Curve[]): Curve[] {
  const reachedAt = (curve: Curve) => curve.steps.filter((row) => row.steps !== null && row.steps > 0);
  const sizes = new Map<number, { curves: number; points: number }>();
  for (const curve of curves) {
    const rows = reachedAt(curve);
    for (const row of rows) {
      const at = sizes.get(row.batch_size) ?? { curves: 0, points: 0 };
      sizes.set(row.batch_size, { curves: at.curves + 1, points: at.points + rows.length });
    }
  }
  const [chosen] = [...sizes].sort(([a, x], [b, y]) => y.curves - x.curves || y.points - x.points || a - b);
  if (!chosen) return [...curves];
  return curves.flatMap((curve) => {
    const at = reachedAt(curve).find((row) => row.batch_size === chosen[0]);
    return at ? [{ ...curve, divisor: at.steps as number, dividedAt: chosen[0] }] : [];
  });
}

/** What curves are called: the parts of their workloads' names in which those that are drawn differ. */
export function labelsOf(workloads: readonly Workload[], severalReleases: boolean): string[] {
  const parts = workloads.map((each) => each.workload.split("/"));
  const [first = []] = parts;
  const sameDepth = parts.every((each) => each.length === first.length);
  const differs = first.map((part, place) => parts.some((each) => each[place] !== part));
  return workloads.map((each, index) => {
    const own = parts[index] ?? [];
    // Of one curve, or of curves that nothing but their release tells apart, the whole name.
    const words = sameDepth && differs.some(Boolean) ? own.filter((_, place) => differs[place]) : own;
    return [words.join("/"), severalReleases ? `(${each.release})` : ""].filter(Boolean).join(" ");
  });
}
