/**
 * Lines of perfect scaling, steps in inverse proportion to the batch size: schema/figures.sql and schema/bands.sql.
 *
 * Each function returns the examples of a line; its steps are the examples divided by the batch size.
 */

import { mean, sum } from "d3-array";

/** Rows by rising batch size; those that did not reach the goal have no steps. */
type Rows = readonly { batch_size: number; steps: number | null }[];

/** The line through the point of the smallest batch size that reached the goal; null where there is none. */
export function lineThroughFirst(rows: Rows): number | null {
  const first = rows.find((row) => row.steps !== null);
  return first ? first.batch_size * first.steps! : null;
}

/**
 * The macro `fitted_scaling`: the line through the points up to where diminishing returns begin, by least squares of
 * logarithms; null for fewer than two.
 */
export function fittedLine(rows: Rows): number | null {
  const reached = rows.filter((row) => row.steps !== null && row.steps > 0);
  if (reached.length < 2) return null;
  const octaves = reached.map((row) => Math.log2(row.batch_size));
  const examples = reached.map((row) => Math.log2(row.steps! * row.batch_size));
  let best: { misfit: number; count: number } | undefined;
  // Ties go to the larger knee.
  for (let knee = reached.length - 1; knee >= 0; knee--) {
    const beyond = octaves.map((octave) => Math.max(octave - octaves[knee]!, 0));
    const { rise, misfit } = regression(beyond, examples);
    if (rise !== null && !(rise > 0)) continue;
    const rounded = Math.round(misfit * 1e9) / 1e9;
    if (!best || rounded < best.misfit) best = { misfit: rounded, count: knee + 1 };
  }
  return best ? 2 ** mean(examples.slice(0, best.count))! : null;
}

/** SQL's `regr_slope`, null where all x are equal, and the squares that a line leaves. */
function regression(x: readonly number[], y: readonly number[]): { rise: number | null; misfit: number } {
  const [meanX, meanY] = [mean(x)!, mean(y)!];
  const xx = sum(x, (each) => (each - meanX) ** 2);
  const xy = sum(x, (each, index) => (each - meanX) * (y[index]! - meanY));
  const rise = xx > 0 ? xy / xx : null;
  return { rise, misfit: sum(y, (each) => (each - meanY) ** 2) - (rise ?? 0) * xy };
}
