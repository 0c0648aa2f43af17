/** When trials pass a goal: the macros of schema/macros.sql and queries/browse/crossings.sql. */

import type { Evaluations } from "../data/evaluations";
import type { Trials } from "../data/held";
import type { Study } from "../facts";
import type { Crossing, StudyTrials } from "./searches";

/** The macro `is_maximized`: whether higher values of a metric are better. */
export function isMaximized(metric: string): boolean {
  return /(average_precision|accuracy|auc|bleu|clip|dice|intersection_over_union|lddt)$|(^|_)(correlation|exact_match|f1|f1_score|iou|map|meteor|mrr|ndcg|precision|psnr|r2|recall|return|reward|rouge|ssim|success_rate|win_rate)$|^((batch|test|train|val)_)?log_likelihood$/.test(metric);
}

/** The macro `reached`: whether a value is past a goal. */
function reached(value: number, goal: number, maximize: boolean, inclusive: boolean): boolean {
  return ((maximize ? value > goal : value < goal) || (inclusive && value === goal)) && Number.isFinite(value);
}

/** The trials that count of each study of a workload; studies without any are left out. */
export function studiesOf(
  facts: readonly Pick<Study, "batch_size" | "windowed" | "search_space">[],
  columns: Pick<Trials, "batch_size" | "trial_id" | "status" | "ordinal" | "learning_rate" | "momentum" | "setting">,
): StudyTrials[] {
  const rows = new Map<number, number[]>(facts.map((each) => [each.batch_size, []]));
  for (let row = 0; row < columns.batch_size.length; row++) {
    const counts = !Number.isNaN(columns.ordinal[row]) || columns.status[row] === "INFEASIBLE";
    if (counts) rows.get(columns.batch_size[row]!)?.push(row);
  }
  return [...facts]
    .sort((a, b) => a.batch_size - b.batch_size)
    .map((each): StudyTrials => {
      const own = rows.get(each.batch_size)!;
      return {
        batchSize: each.batch_size,
        searchSpace: each.search_space,
        windowed: each.windowed,
        trialId: Int32Array.from(own, (row) => columns.trial_id[row]!),
        status: own.map((row) => columns.status[row]!),
        learningRate: Float64Array.from(own, (row) => columns.learning_rate[row]!),
        momentum: Float64Array.from(own, (row) => columns.momentum[row]!),
        setting: Float64Array.from(own, (row) => columns.setting[row]!),
      };
    })
    .filter((study) => study.trialId.length > 0);
}

/** The question `crossings` of one metric: when each trial of each study passed a goal, in the order of the studies. */
export function crossingsOf(
  studies: readonly StudyTrials[],
  evaluations: Evaluations,
  goal: number,
  { maximize, inclusive }: { maximize: boolean; inclusive: boolean },
): Crossing[] {
  const { batch_size: sizes, trial_id: trials, value } = evaluations;
  let row = 0;
  return studies.map(({ batchSize, trialId, status }) => {
    // Of a trial that was never evaluated, after is 0.
    const after = new Float64Array(trialId.length);
    const steps = new Float64Array(trialId.length).fill(Infinity);
    for (let trial = 0; trial < trialId.length; trial++) {
      const id = trialId[trial]!;
      while (sizes[row]! < batchSize || (sizes[row] === batchSize && trials[row]! < id)) row++;
      for (; sizes[row] === batchSize && trials[row] === id; row++) {
        if (steps[trial] !== Infinity) continue;
        const step = evaluations.step[row]!;
        const isPast = status[trial] !== "INFEASIBLE" && reached(value[row]!, goal, maximize, inclusive);
        if (isPast) steps[trial] = step;
        after[trial] = isPast || step === Infinity ? evaluations.after[row]! : step;
      }
    }
    return { after, steps };
  });
}
