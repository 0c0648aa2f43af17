/** Evaluations of a workload's trials in one metric. */

import type { Table } from "./parquet";

/**
 * Evaluations sorted by batch size, trial and step; `after` is the step of the one before in the same trial, or 0.
 *
 * Where the page has no curves, these are the rows of queries/explorer/improvements.sql: the evaluations alone that better
 * all before them in their trial, and a last row whose value is NaN, whose step is Infinity and whose `after` is the last
 * evaluation. For any goal they tell the same.
 */
export type Evaluations = Table<"batch_size" | "trial_id" | "after" | "step" | "value">;

/** Stands for a NaN that was measured, since NaN stands for nothing. */
export const NO_NUMBER = Number.MAX_VALUE;

/** The evaluations of a table whose value is NaN where another metric alone was measured, and NO_NUMBER where it was none. */
export function evaluationsOf(table: Table<"batch_size" | "trial_id" | "step" | "value">): Evaluations {
  const rows = Array.from(table.value.keys()).filter((row) => !Number.isNaN(table.value[row]));
  const column = (of: Float64Array) => Float64Array.from(rows, (row) => of[row]!);
  const [batch_size, trial_id, step] = [column(table.batch_size), column(table.trial_id), column(table.step)];
  const found = { batch_size, trial_id, step, value: column(table.value).map((at) => (at === NO_NUMBER ? Number.NaN : at)) };
  return { ...found, after: step.map((_, row) => (isFirst(found, row) ? 0 : step[row - 1]!)) };
}

/** Goals from the hardest that a trial passed to what is easy for the middle one; null without values above 0. */
export function goalsOf(evaluations: Evaluations, maximize: boolean): { low: number; high: number } | null {
  // Values are not finite in closing rows; a logarithmic slider has no room for 0.
  const isUsed = (value: number) => value > 0 && value < Number.POSITIVE_INFINITY;
  const { value } = evaluations;
  const firsts = value.filter((at, row) => isUsed(at) && isFirst(evaluations, row)).sort();
  const start = firsts[Math.floor(firsts.length / 2)];
  if (start === undefined) return null;
  const best = value.filter(isUsed).reduce((a, b) => (maximize ? Math.max(a, b) : Math.min(a, b)));
  return maximize ? { low: start, high: best } : { low: best, high: start };
}

/** Whether a row is the first of its trial. */
function isFirst({ batch_size, trial_id }: Pick<Evaluations, "batch_size" | "trial_id">, row: number): boolean {
  return row === 0 || trial_id[row] !== trial_id[row - 1] || batch_size[row] !== batch_size[row - 1];
}
