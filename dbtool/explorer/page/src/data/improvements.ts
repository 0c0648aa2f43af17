/** Of evaluations those that better all before them in their trial; as queries/explorer/improvements.sql has them. */

import type { Table } from "./parquet";

/** Values of a metric, a row an evaluation; NaN where another metric alone was measured, NO_NUMBER where it was none. */
export type Evaluations = Table<"batch_size" | "trial_id" | "step" | "value">;

/** The improvements of a workload's trials in a metric; in the closing row of a trial step is Infinity and value NaN. */
export type Improvements = Table<"batch_size" | "trial_id" | "after" | "step" | "value">;

/** Stands for a NaN that was measured, since NaN stands for nothing. */
export const NO_NUMBER = Number.MAX_VALUE;

/** The improvements of evaluations that are sorted by batch size, trial and step. */
export function improvementsOf({ batch_size, trial_id, step, value }: Evaluations, maximize: boolean): Improvements {
  const rows: [batchSize: number, trial: number, after: number, step: number, value: number][] = [];
  let [batchSize, trial] = [Number.NaN, Number.NaN];
  let [after, best] = [0, Number.NaN];
  const close = () => {
    if (!Number.isNaN(trial)) rows.push([batchSize, trial, after, Number.POSITIVE_INFINITY, Number.NaN]);
  };
  for (let row = 0; row < value.length; row++) {
    const at = value[row] as number;
    if (Number.isNaN(at)) continue;
    if (batch_size[row] !== batchSize || trial_id[row] !== trial) {
      close();
      [batchSize, trial] = [batch_size[row] as number, trial_id[row] as number];
      [after, best] = [0, Number.NaN];
    }
    // What is not a number, or infinitely bad, betters nothing, but it was an evaluation.
    if (Number.isFinite(at) && at !== NO_NUMBER && (Number.isNaN(best) || (maximize ? at > best : at < best))) {
      rows.push([batchSize, trial, after, step[row] as number, at]);
      best = at;
    }
    after = step[row] as number;
  }
  close();
  const column = (place: number) => Float64Array.from(rows, (row) => row[place] as number);
  return { batch_size: column(0), trial_id: column(1), after: column(2), step: column(3), value: column(4) };
}

/** Goals from the hardest that a trial passed to what is easy for the middle one; null without values above 0. */
export function goalsOf({ batch_size, trial_id, value }: Improvements, maximize: boolean): { low: number; high: number } | null {
  let best = maximize ? 0 : Number.POSITIVE_INFINITY;
  const firsts: number[] = [];
  for (let row = 0; row < value.length; row++) {
    const at = value[row] as number;
    // Of the closing rows the value is missing; a logarithmic slider has no room for 0.
    if (Number.isNaN(at) || at <= 0) continue;
    if (row === 0 || trial_id[row] !== trial_id[row - 1] || batch_size[row] !== batch_size[row - 1]) firsts.push(at);
    best = maximize ? Math.max(best, at) : Math.min(best, at);
  }
  firsts.sort((a, b) => a - b);
  const start = firsts[Math.floor(firsts.length / 2)];
  if (start === undefined) return null;
  return maximize ? { low: start, high: best } : { low: best, high: start };
}
