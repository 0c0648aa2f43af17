/** Curves of the person's own, from a CSV file that is dropped on the page; it stays in the page. */

import type { StepsAt } from "../analysis/critical";
import { crossingsOf } from "../analysis/goal";
import { medianErrors, middle } from "../analysis/replicates";
import { type StudyTrials, firstPast } from "../analysis/searches";
import { type Row, rowsOfCsv } from "../csv";
import { type Evaluations, evaluationsOf } from "./evaluations";

/** Steps of one curve, or the evaluations from which they follow at a goal. */
export interface OwnCurve {
  label: string;
  /** Steps to the goal, where it was reached. */
  steps: StepsAt[] | null;
  /** Evaluations of its trials, by rising batch size, trial and step. */
  evaluations: Evaluations | null;
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
  const { columns, rows, lines } = rowsOfCsv(text);
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
  const numbered = rows.map((row, index): Row => ({ ...row, line: lines[index] }));
  const groups = Map.groupBy(numbered, (row) => String((named && row[named]) || file.replace(/\.csv$/i, "")));
  return [...groups].map(([label, of]) => ({
    label,
    metric: ofSteps || metric === "value" ? null : metric,
    steps: ofSteps ? stepsOf(file, of) : null,
    evaluations: ofSteps ? null : evaluated(file, of, metric as string),
  }));
}

function evaluated(file: string, rows: readonly Row[], metric: string): Evaluations {
  const trials = new Map<unknown, number>();
  const found = rows
    .filter((row) => row[metric] !== "")
    .map((row) => {
      const name = row["trial_id"] ?? row["trial"] ?? "";
      if (!trials.has(name)) trials.set(name, trials.size);
      const trial = trials.get(name) as number;
      return [positive(file, row, "batch_size"), trial, number(file, row, "step"), number(file, row, metric)] as const;
    })
    .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  const column = (place: 0 | 1 | 2 | 3) => Float64Array.from(found, (row) => row[place]);
  return evaluationsOf({ batch_size: column(0), trial_id: column(1), step: column(2), value: column(3) });
}

/** The fewest steps of any trial at each batch size, and the step before that one. */
export function stepsOfOwn({ steps, evaluations }: OwnCurve, goal: number | null, maximize: boolean): StepsAt[] {
  if (!evaluations) return steps ?? [];
  const trials = Map.groupBy(evaluations.trial_id.keys(), (row) => evaluations.batch_size[row]!);
  const unknown = { searchSpace: {}, windowed: false, status: [], learningRate: new Float64Array(), momentum: new Float64Array(), setting: new Float64Array() };
  const studies = [...trials].map(([batchSize, rows]): StudyTrials => {
    return { ...unknown, batchSize, trialId: [...new Set(rows.map((row) => evaluations.trial_id[row]!))] };
  });
  // No value is past NaN.
  const crossings = crossingsOf(studies, evaluations, goal ?? Number.NaN, { maximize, inclusive: false });
  return studies.map(({ batchSize }, study) => ({ batchSize, ...firstPast(crossings[study]!) }));
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

function stepsOf(file: string, rows: readonly Row[]): StepsAt[] {
  const sizes = [...Map.groupBy(rows, (row) => positive(file, row, "batch_size"))];
  const runs = sizes.map(([batchSize, of]) => {
    const steps = of.map((row) => (row["steps"] === "" ? Infinity : positive(file, row, "steps")));
    return { batchSize, steps, median: middle(steps) };
  });
  // Of a goal that was missed it is not known when: as in `dbtool scaling --csv`, the batch size tells nothing.
  const known = runs.filter((each) => Number.isFinite(each.median));
  const errors = medianErrors(known.map((each) => each.steps));
  return known.map(({ batchSize, median }, index) => ({ batchSize, lower: median, upper: median, error: errors[index]! }));
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
