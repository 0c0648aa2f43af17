/** What is asked of the workloads that are drawn: metric, goal, number of trials, and how steps are drawn. */

import { isMaximized } from "../analysis/goal";
import type { Choices } from "../choices";
import { metricName, shortNumber } from "../numbers";
import type { Line, State } from "../state";

interface Props {
  state: State;
  choices: Choices;
  change: (part: Partial<State>) => void;
}

const POSITIONS = 400;
const LINES: Record<Line, string> = { fit: "fitted", first: "through the first point", none: "none" };

export function Controls({ state, choices, change }: Props) {
  const metrics = choices.metrics.map((metric): [string, string] => [metric, metricName(metric)]);
  return (
    <section class="controls" aria-label="What is asked">
      <GoalControl state={state} choices={choices} change={change} />
      <TrialsControl state={state} choices={choices} change={change} />
      <Select label="Metric" value={state.metric ?? ""} options={[["", "each its own"], ...metrics]} choose={(metric) => change({ metric: metric || null, goal: null })} />
      <Select label="Perfect scaling" value={state.line} options={Object.entries(LINES)} choose={(line) => change({ line: line as Line })} />
      <label class="check">
        <input type="checkbox" checked={state.relative} onChange={(event) => change({ relative: event.currentTarget.checked })} />
        Relative steps
      </label>
    </section>
  );
}

type Options = readonly (readonly [value: string, label: string])[];

export function Select({ label, value, options, choose }: { label: string; value: string; options: Options; choose: (value: string) => void }) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function GoalControl({ state, choices, change }: Props) {
  const range = choices.goals;
  const goal = state.goal ?? choices.ownGoal;
  if (!range) {
    return (
      <fieldset class="goal">
        <legend>Goal</legend>
        <p class="empty">No values of this metric are drawn.</p>
      </fieldset>
    );
  }
  const valueAt = (position: number) => Number((range.low * (range.high / range.low) ** (position / POSITIONS)).toPrecision(3));
  const position = goal === null ? 0 : (POSITIONS * Math.log(goal / range.low)) / Math.log(range.high / range.low);
  const side = choices.metric && isMaximized(choices.metric) ? "above" : "below";
  return (
    <fieldset class="goal">
      <legend>Goal</legend>
      <input
        type="range"
        min={0}
        max={POSITIONS}
        step={1}
        value={Math.round(position)}
        aria-label="Goal"
        aria-valuetext={goal === null ? "each workload's own" : `${choices.metric ? metricName(choices.metric) : ""} ${side} ${goal}`}
        onInput={(event) => change({ goal: valueAt(Number(event.currentTarget.value)) })}
      />
      <span class="with">
        <input
          type="number"
          step="any"
          value={goal ?? ""}
          placeholder="own"
          aria-label="Goal as a number"
          onChange={(event) => {
            const value = event.currentTarget.valueAsNumber;
            change({ goal: Number.isFinite(value) ? value : null });
          }}
        />
        <button type="button" disabled={state.goal === null} onClick={() => change({ goal: null })}>
          Own goal
        </button>
      </span>
      <p class="hint">
        {state.goal === null ? "Each workload has its own goal" : `${choices.metric ? metricName(choices.metric) : "the metric"} ${side} ${shortNumber(state.goal)}`}
      </p>
    </fieldset>
  );
}

function TrialsControl({ state, choices, change }: Props) {
  const most = Math.max(choices.mostTrials, 1);
  return (
    <fieldset class="trials">
      <legend>Trials a search</legend>
      <input
        type="range"
        min={1}
        max={most}
        value={state.trials ?? most}
        aria-label="Trials a search"
        aria-valuetext={state.trials === null ? "as many as all have" : `best of ${state.trials} trials`}
        onInput={(event) => change({ trials: event.currentTarget.valueAsNumber })}
      />
      <span class="with">
        <input
          type="number"
          min={1}
          max={most}
          value={state.trials ?? ""}
          placeholder="all"
          aria-label="Trials a search as a number"
          onChange={(event) => {
            const value = event.currentTarget.valueAsNumber;
            change({ trials: Number.isSafeInteger(value) && value > 0 ? value : null });
          }}
        />
        <button type="button" disabled={state.trials === null} onClick={() => change({ trials: null })}>
          All
        </button>
      </span>
      <p class="hint">{state.trials === null ? "Best of as many as all have" : `Median of the best of ${state.trials}`}</p>
    </fieldset>
  );
}
