/**
 * Lines of perfect scaling, steps in inverse proportion to the batch size: schema/figures.sql and schema/bands.sql.
 *
 * Each function returns the examples of a line; its steps are the examples divided by the batch size.
 */

/** A measured point of a curve; those without steps are left out. */
export interface Point {
  readonly batchSize: number;
  readonly steps: number | null;
}

/** The line through the point of the smallest batch size that reached the goal; null where there is none. */
export function lineThroughFirst(points: readonly Point[]): number | null {
  const [first] = measured(points);
  return first ? first.batchSize * first.steps : null;
}

/**
 * The macro `fitted_scaling`: the line through the points up to where diminishing returns begin, by least squares of
 * logarithms; null for fewer than two.
 */
export function fittedLine(points: readonly Point[]): number | null {
  const reached = measured(points).filter((point) => point.steps > 0);
  if (reached.length < 2) return null;
  const octaves = reached.map((point) => Math.log2(point.batchSize));
  const examples = reached.map((point) => Math.log2(point.steps * point.batchSize));
  let best: { misfit: number; count: number } | undefined;
  // Ties go to the larger knee.
  for (let knee = reached.length - 1; knee >= 0; knee--) {
    const beyond = octaves.map((octave) => Math.max(octave - octaves[knee]!, 0));
    const { rise, misfit } = regression(beyond, examples);
    if (rise !== null && !(rise > 0)) continue;
    const rounded = Math.round(misfit * 1e9) / 1e9;
    if (!best || rounded < best.misfit) best = { misfit: rounded, count: knee + 1 };
  }
  return best ? 2 ** mean(examples.slice(0, best.count)) : null;
}

/** Those with steps, by rising batch size. */
function measured(points: readonly Point[]): { batchSize: number; steps: number }[] {
  return points
    .map(({ batchSize, steps }) => ({ batchSize, steps: steps ?? NaN }))
    .filter((point) => Number.isFinite(point.steps))
    .sort((a, b) => a.batchSize - b.batchSize);
}

/** SQL's `regr_slope`, null where all x are equal, and the squares that a line leaves. */
function regression(x: readonly number[], y: readonly number[]): { rise: number | null; misfit: number } {
  const [meanX, meanY] = [mean(x), mean(y)];
  let [xx, xy, yy] = [0, 0, 0];
  x.forEach((each, index) => {
    xx += (each - meanX) ** 2;
    xy += (each - meanX) * (y[index]! - meanY);
    yy += (y[index]! - meanY) ** 2;
  });
  const rise = xx > 0 ? xy / xx : null;
  return { rise, misfit: yy - (rise ?? 0) * xy };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0) / values.length;
}
