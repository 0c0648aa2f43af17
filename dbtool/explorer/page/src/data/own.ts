/** Curves of the person's own, from a CSV file that is dropped on the page; it stays in the page. */

import { type Row, rowsOfCsv } from "../csv";

/** Steps of one curve, or the evaluations from which they follow at a goal. */
export interface OwnCurve {
  label: string;
  /** Batch size and steps; null steps: the goal was not reached. */
  steps: { batchSize: number; steps: number | null }[] | null;
  /** Evaluations of its trials: batch size, trial, step and value of the metric. */
  evaluations: { batchSize: number; trial: string; step: number; value: number }[] | null;
  metric: string | null;
}

const NAMES = ["workload", "series", "name"];
const METRIC = /^(train|val|test)_(cross_entropy_error|classification_error|average_precision)$/;

/** The curves of a CSV file.
 *
 * Either batch_size and steps, or batch_size, step and a metric such as val_classification_error (and trial_id where there
 * are several); workload, series or name tells several curves apart.
 *
 * @throws Error what is wrong with it, in one sentence.
 */
export function ownCurves(file: string, text: string): OwnCurve[] {
  const { columns, rows, lines } = rowsOfCsv(text, file);
  const metric = columns.find((each) => METRIC.test(each)) ?? (columns.includes("value") ? "value" : null);
  const ofSteps = columns.includes("steps");
  if (!columns.includes("batch_size") || !(ofSteps || (columns.includes("step") && metric))) {
    throw new Error(
      `${file} has the columns ${columns.join(", ") || "of nothing"}: it takes batch_size and steps, or batch_size, step and a ` +
        "metric such as val_classification_error",
    );
  }
  if (rows.length === 0) throw new Error(`${file} has no rows below its first line`);
  const named = NAMES.find((each) => columns.includes(each));
  const groups = new Map<string, Row[]>();
  rows.forEach((row, index) => {
    const label = (named && row[named]) || file.replace(/\.csv$/i, "");
    groups.set(label, [...(groups.get(label) ?? []), { ...row, line: lines[index] }]);
  });
  return [...groups].map(([label, of]) => ({
    label,
    metric: ofSteps || metric === "value" ? null : metric,
    steps: ofSteps ? stepsOf(file, of) : null,
    evaluations: ofSteps
      ? null
      : of
          .filter((row) => row[metric as string] !== "")
          .map((row) => ({
            batchSize: positive(file, row, "batch_size"),
            trial: String(row["trial_id"] ?? row["trial"] ?? ""),
            step: number(file, row, "step"),
            value: number(file, row, metric as string),
          })),
  }));
}

/** The fewest steps of any trial at each batch size, and the step before that one; by rising batch size. */
export function stepsOfOwn(
  own: OwnCurve,
  reached: (value: number) => boolean,
): { batchSize: number; after: number; steps: number | null }[] {
  const best = new Map<number, { after: number; steps: number | null }>();
  const offer = (batchSize: number, after: number, steps: number | null) => {
    const known = best.get(batchSize);
    const better =
      !known || (steps !== null ? known.steps === null || steps < known.steps : known.steps === null && after > known.after);
    if (better) best.set(batchSize, { after, steps });
  };
  // Of steps alone nothing is known of when the goal was missed: the number stands for itself.
  for (const each of own.steps ?? []) offer(each.batchSize, each.steps ?? 0, each.steps);
  const trials = new Map<string, { step: number; value: number; batchSize: number }[]>();
  for (const each of own.evaluations ?? []) {
    const key = `${each.batchSize} ${each.trial}`;
    const rows = trials.get(key);
    if (rows) rows.push(each);
    else trials.set(key, [each]);
  }
  for (const rows of trials.values()) {
    rows.sort((a, b) => a.step - b.step);
    const first = rows.findIndex((each) => reached(each.value));
    const batchSize = (rows[0] as { batchSize: number }).batchSize;
    if (first === -1) offer(batchSize, (rows.at(-1) as { step: number }).step, null);
    else offer(batchSize, rows[first - 1]?.step ?? 0, (rows[first] as { step: number }).step);
  }
  return [...best].sort(([a], [b]) => a - b).map(([batchSize, each]) => ({ batchSize, ...each }));
}

/** Curves beside which others are put; those whose names are taken get numbers. */
export function withOwn(own: readonly OwnCurve[], more: readonly OwnCurve[]): OwnCurve[] {
  const all = [...own];
  for (const each of more) {
    const taken = new Set(all.map((known) => known.label));
    let label = each.label;
    for (let number = 2; taken.has(label); number++) label = `${each.label} (${number})`;
    all.push({ ...each, label });
  }
  return all;
}

function stepsOf(file: string, rows: readonly Row[]): { batchSize: number; steps: number | null }[] {
  const known = new Set<number>();
  return rows.map((row) => {
    const batchSize = positive(file, row, "batch_size");
    if (known.has(batchSize)) {
      throw new Error(
        `${file}, line ${row["line"]}: batch_size ${batchSize} is there twice; leave the fewest steps of each, and name the ` +
          "workloads if there are several",
      );
    }
    known.add(batchSize);
    return { batchSize, steps: stepsIn(file, row) };
  });
}

function stepsIn(file: string, row: Row): number | null {
  return row["steps"] === "" ? null : positive(file, row, "steps");
}

function positive(file: string, row: Row, name: string): number {
  const value = number(file, row, name);
  if (value <= 0) throw new Error(`${file}, line ${row["line"]}: ${name} is ${value}, and should be above 0`);
  return value;
}

function number(file: string, row: Row, name: string): number {
  const text = String(row[name]);
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw new Error(`${file}, line ${row["line"]}: ${name} "${text}" is not a number`);
  return value;
}
