/** The curves that are drawn, with all that is told of them; from what was read and from the state. */

import { isMaximized, reached } from "./analysis/goal";
import { fittedLine, lineThroughFirst } from "./analysis/perfect";
import { type CriticalRow, type LearningRateRow, type StepsRow, criticalRows, learningRateRows, stepsRows } from "./analysis/rows";
import { type Scaling, scalingOfSearches, scalingOfSteps } from "./analysis/scaling";
import { type Crossing, type StudyTrials, searchOf } from "./analysis/searches";
import type { Drawn } from "./data/held";
import { type OwnCurve, stepsOfOwn } from "./data/own";
import { keyOf, metricOf, type Workload } from "./facts";
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
}

export type RateRow = LearningRateRow;

export interface Curve {
  key: string;
  /** Its place among those drawn, which its colour and symbol follow. */
  index: number;
  label: string;
  /** null for a curve of the person's own. */
  workload: Workload | null;
  metric: string;
  goal: number | null;
  /** At how many trials its searches are compared; null where it has none. */
  trials: number | null;
  leftOut: readonly number[];
  steps: StepsRow[];
  criticals: CriticalRow[];
  rates: RateRow[];
  winners: ReadonlyMap<number, Fewest>;
  searches: ReadonlyMap<number, Passed>;
  /** Steps on the line of perfect scaling are this, divided by the batch size. */
  perfect: number | null;
  /** Steps that a batch size needs by the curve that was fitted. */
  fitted: ((batchSize: number) => number) | null;
  /** What steps are divided by, and the batch size at which the curve has as many. */
  divisor: number;
  dividedAt: number | null;
}

export function curveOfWorkload(drawn: Drawn, state: State, index: number, label: string): Curve {
  const { workload } = drawn;
  const metric = metricOf(workload, state.metric) ?? "";
  const isOwn = metric === workload.metric;
  const goal = state.goal ?? (isOwn ? workload.goal : null);
  const named = { release: workload.release, workload: workload.workload, metric, goal };
  const found = drawn.passing;
  if (!found || goal === null || found.studies.length === 0) {
    return { ...EMPTY, key: keyOf(workload), index, label, workload, metric, goal };
  }
  const crossings = found.crossings.at(goal, workload.goal_inclusive);
  const searches = found.studies.map((study, place) => searchOf(study, crossings[place] as Crossing));
  const scaling = scalingOfSearches(searches, state.trials);
  const answer = { ...named, scaling, searches };
  return {
    ...curveOfScaling(scaling, state, stepsRows(answer)),
    key: keyOf(workload),
    index,
    label,
    workload,
    metric,
    goal,
    criticals: criticalRows(answer),
    rates: learningRateRows(answer),
    winners: winnersOf(found.studies, crossings),
    searches: new Map(found.studies.map((study, place) => [study.batchSize, { trial: study.trialId, steps: (crossings[place] as Crossing).steps }])),
  };
}

export function curveOfOwn(own: OwnCurve, metric: string, goal: number | null, state: State, index: number): Curve {
  const past = (value: number) => goal !== null && reached(value, goal, isMaximized(metric), false);
  const found = stepsOfOwn(own, past);
  const known = found.map(({ batchSize, after, steps }) => ({ batchSize, lower: after, upper: steps ?? Number.POSITIVE_INFINITY }));
  // Of a table of steps those of goals that were missed are unknown, as in `dbtool scaling --csv`.
  const told = own.steps ? known.filter((each) => Number.isFinite(each.upper)) : known;
  const named = { release: null, workload: own.label, metric: own.steps ? null : metric, goal: own.steps ? null : goal };
  if (told.length === 0) return { ...EMPTY, key: `own:${own.label}`, index, label: own.label, metric, goal };
  const scaling = scalingOfSteps(told);
  const answer = { ...named, scaling, searches: [] };
  return {
    ...curveOfScaling(scaling, state, stepsRows(answer)),
    key: `own:${own.label}`,
    index,
    label: own.label,
    metric,
    goal,
    criticals: criticalRows(answer),
  };
}

const EMPTY: Curve = {
  key: "",
  index: 0,
  label: "",
  workload: null,
  metric: "",
  goal: null,
  trials: null,
  leftOut: [],
  steps: [],
  criticals: [],
  rates: [],
  winners: new Map(),
  searches: new Map(),
  perfect: null,
  fitted: null,
  divisor: 1,
  dividedAt: null,
};

function curveOfScaling(scaling: Scaling, state: State, steps: StepsRow[]): Curve {
  const points = steps.map((row) => ({ batchSize: row.batch_size, steps: row.steps }));
  const line = state.line === "none" ? null : state.line === "first" ? lineThroughFirst(points) : fittedLine(points);
  const { curve } = scaling;
  return {
    ...EMPTY,
    trials: scaling.trials,
    leftOut: scaling.leftOut,
    steps,
    perfect: line,
    fitted: curve ? (batchSize) => curve.at(batchSize) : null,
  };
}

/** Of each study the trial that counts with the fewest steps, of equal ones the first; see the macro study_steps. */
function winnersOf(studies: readonly StudyTrials[], crossings: readonly Crossing[]): Map<number, Fewest> {
  const winners = new Map<number, Fewest>();
  studies.forEach((study, place) => {
    const { steps } = crossings[place] as Crossing;
    let best = -1;
    for (let trial = 0; trial < steps.length; trial++) {
      if (Number.isFinite(steps[trial]) && (best < 0 || (steps[trial] as number) < (steps[best] as number))) best = trial;
    }
    if (best < 0) return;
    winners.set(study.batchSize, {
      trial_id: study.trialId[best] as number,
      steps: steps[best] as number,
      learning_rate: known(study.learningRate[best]),
      momentum: known(study.momentum[best]),
    });
  });
  return winners;
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
