/** How far larger batches help on a workload: `dbtool.analysis.scaling`, but for the regimes. */

import { fitCurve } from "./critical";
import type { Curve, Estimate, StepsAt } from "./critical";
import { bestRate, fitLaws } from "./learningRates";
import type { BestRate, Rate, RateLaw } from "./learningRates";
import { equalTrials } from "./searches";
import type { Search } from "./searches";

/** How a scaling is told. */
export interface Settings {
  /** Of all intervals. */
  readonly level: number;
  /** The share by which steps exceed linear scaling at the critical batch size that is called overhead. */
  readonly overhead: number;
  /** The batch size that linear scaling starts from; null: the smallest that reached the goal. */
  readonly start: number | null;
  /** At which searches are compared; null: as many as all have. */
  readonly trials: number | null;
}

export const SETTINGS: Settings = { level: 0.95, overhead: 0.2, start: null, trials: null };

/** How far larger batches help on a workload. */
export interface Scaling {
  /** What is known of the steps to result, by rising batch size. */
  readonly steps: readonly StepsAt[];
  /** At which searches were compared; null where the steps came without trials. */
  readonly trials: number | null;
  /** Batch sizes that had fewer trials. */
  readonly leftOut: readonly number[];
  /** Batch sizes at which half of all searches of so many trials diverge throughout. */
  readonly diverged: readonly number[];
  /** Batch sizes that were searched near the best of another one alone. */
  readonly windowed: readonly number[];
  /** Where some were, those that were searched in the whole space. */
  readonly wide: readonly number[];
  /** Of the steps, as fitted; null where too few batch sizes reached the goal. */
  readonly curve: Curve | null;
  readonly tradeoff: Estimate | null;
  readonly overhead: Estimate | null;
  /** The batch size that linear scaling starts from. */
  readonly start: number | null;
  /** The best learning rates, by rising batch size. */
  readonly rates: readonly BestRate[];
  /** How they move; null where too few batch sizes tell. */
  readonly rateLaw: RateLaw | null;
  /** How learning rate / (1 - momentum) moves; null also where there is no momentum. */
  readonly effectiveLaw: RateLaw | null;
}

/** `Scaling.reached`: the batch sizes that reached the goal, rising. */
export function reachedSizes(scaling: Scaling): number[] {
  return scaling.steps.filter((each) => Number.isFinite(each.upper)).map((each) => each.batchSize);
}

/** `Scaling.wanted`: batch sizes whose studies would tell what of the critical one is not identified. */
export function wantedSizes(scaling: Scaling): number[] {
  const reached = reachedSizes(scaling);
  if (reached.length === 0 || scaling.tradeoff?.verdict === "identified") return [];
  const verdict = scaling.tradeoff?.verdict ?? "not_identified";
  const least = roundedToEven(reached[0]!);
  const most = roundedToEven(reached.at(-1)!);
  const smaller = [8, 4, 2].filter((factor) => least >= factor).map((factor) => Math.floor(least / factor));
  const larger = [2, 4, 8].map((factor) => most * factor);
  const sizes = [...(verdict === "lower_bound" ? [] : smaller), ...(verdict === "upper_bound" ? [] : larger)];
  const measured = new Set([...scaling.steps.map((each) => each.batchSize), ...scaling.leftOut, ...scaling.diverged]);
  return sizes.filter((size) => !measured.has(size));
}

/** `scaling_of_searches`: from a search a batch size, rising, at least one. */
export function scalingOfSearches(given: readonly Search[], settings: Settings): Scaling {
  const { enough, k } = equalTrials(given, settings.trials);
  const windowed = enough.filter((search) => search.windowed).map((search) => search.batchSize);
  const wide = enough.filter((search) => windowed.length > 0 && !search.windowed).map((search) => search.batchSize);
  const at = enough.map((search) => search.bestOf(k));
  // Where so many trials diverge, nothing is known of how many steps the others would take.
  const known = at
    .filter((each) => each.lower !== Infinity)
    .map((each) => (wide.includes(each.batchSize) ? { ...each, lower: 0 } : each));
  const rates = bestRates(enough, "learning_rate");
  const hasMomentum = enough.some((search) => search.momentum.some(Number.isFinite));
  const effective = hasMomentum ? bestRates(enough, "effective_learning_rate") : [];
  return {
    ...scalingOf(known, settings),
    trials: k,
    leftOut: given.filter((search) => search.trials < k).map((search) => search.batchSize),
    diverged: at.filter((each) => each.lower === Infinity).map((each) => each.batchSize),
    windowed,
    wide,
    rates,
    rateLaw: fitLaws(rates, settings.level),
    effectiveLaw: fitLaws(effective, settings.level),
  };
}

/** `scaling_of_steps`: from steps to result alone, at least one. */
export function scalingOfSteps(steps: readonly StepsAt[], settings: Settings): Scaling {
  return scalingOf([...steps].sort((a, b) => a.batchSize - b.batchSize), settings);
}

function scalingOf(steps: readonly StepsAt[], settings: Settings): Scaling {
  const curve = steps.length > 0 ? fitCurve(steps, settings.level) : null;
  const start = settings.start || (curve?.reached[0] ?? null);
  return {
    steps,
    trials: null,
    leftOut: [],
    diverged: [],
    windowed: [],
    wide: [],
    curve,
    tradeoff: curve?.tradeoff ?? null,
    overhead: curve && start ? curve.overhead(settings.overhead, start) : null,
    start,
    rates: [],
    rateLaw: null,
    effectiveLaw: null,
  };
}

function bestRates(given: readonly Search[], rate: Rate): BestRate[] {
  return given.map((search) => bestRate(search, rate)).filter((each) => each !== null);
}

/** Python's `round`: halves go to the even number. */
function roundedToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
