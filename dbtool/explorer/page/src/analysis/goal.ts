/** When trials pass a goal: the macros of schema/macros.sql and queries/browse/crossings.sql. */

import type { Trials } from "../data/held";
import type { Improvements } from "../data/improvements";
import type { Study } from "../facts";
import type { Crossing, StudyTrials } from "./searches";

/** The macro `is_maximized`: whether higher values of a metric are better. */
export function isMaximized(metric: string): boolean {
  return metric.endsWith("average_precision");
}

/** The macro `reached`: whether a value is past a goal. */
export function reached(value: number, goal: number, maximize: boolean, inclusive: boolean): boolean {
  // NaN compares as false, and is past no goal.
  return (maximize ? value > goal && value < Infinity : value < goal) || (inclusive && value === goal);
}

/** The trials that count of each study of a workload; studies without any are left out. */
export function studiesOf(
  facts: readonly Pick<Study, "batch_size" | "windowed" | "search_space">[],
  columns: Pick<Trials, "batch_size" | "trial_id" | "status" | "ordinal" | "learning_rate" | "momentum">,
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
      };
    })
    .filter((study) => study.trialId.length > 0);
}

/** Where the rows of each trial of a study begin and end; those of none are empty. */
interface Ranges {
  readonly from: Int32Array;
  readonly to: Int32Array;
}

/** The question `crossings` of one metric, made ready for any goal. */
export class Crossings {
  private readonly ranges: Ranges[];
  // Of a large release these are most of the page's memory.
  private readonly columns: Pick<Improvements, "after" | "step" | "value">;

  constructor(
    private readonly studies: readonly StudyTrials[],
    { batch_size: sizes, trial_id: trials, ...columns }: Improvements,
    private readonly maximize: boolean,
  ) {
    this.columns = columns;
    const rows = sizes.length;
    let row = 0;
    this.ranges = studies.map(({ batchSize, trialId }) => {
      const from = new Int32Array(trialId.length);
      const to = new Int32Array(trialId.length);
      for (let trial = 0; trial < trialId.length; trial++) {
        const id = trialId[trial]!;
        while (row < rows && (sizes[row]! < batchSize || (sizes[row] === batchSize && trials[row]! < id))) row++;
        from[trial] = row;
        while (row < rows && sizes[row] === batchSize && trials[row] === id) row++;
        to[trial] = row;
      }
      return { from, to };
    });
  }

  /** When each trial of each study passed a goal, in the order of the studies. */
  at(goal: number, inclusive: boolean): Crossing[] {
    const { columns } = this;
    return this.studies.map(({ status }, study) => {
      const { from, to } = this.ranges[study]!;
      const after = new Float64Array(from.length);
      const steps = new Float64Array(from.length).fill(Infinity);
      for (let trial = 0; trial < from.length; trial++) {
        const closing = to[trial]! - 1;
        // A trial that was never evaluated has no rows, and after is 0.
        if (closing < from[trial]!) continue;
        // Its values get better from row to row, so that all from the first past the goal on are past it.
        let first = status[trial] === "INFEASIBLE" ? closing : from[trial]!;
        let end = closing;
        while (first < end) {
          const middle = (first + end) >> 1;
          if (reached(columns.value[middle]!, goal, this.maximize, inclusive)) end = middle;
          else first = middle + 1;
        }
        after[trial] = columns.after[first]!;
        steps[trial] = columns.step[first]!;
      }
      return { after, steps };
    });
  }
}
