/** Settings of what is drawn: metric, goal, number of trials, and how steps are drawn. */

import type { Choices } from "../choices";
import { metricName } from "../numbers";
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
    <section class="controls" aria-label="Settings">
      <GoalControl state={state} choices={choices} change={change} />
      <TrialsControl state={state} choices={choices} change={change} />
      <Select label="Metric" value={state.metric ?? ""} options={[["", "each workload’s own"], ...metrics]} choose={(metric) => change({ metric: metric || null, goal: null })} />
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

interface SliderProps {
  name: string;
  label: string;
  range: { min: number; max: number; value: number };
  hint: string;
  value: number | null;
  isDefault: boolean;
  /** Of a position of the slider. */
  valueAt: (position: number) => number;
  /** null: as at first. */
  choose: (value: number | null) => void;
  disabled?: boolean;
}

/** A slider, its value as a number, and a button back to what was there first. */
function Slider({ name, label, range, hint, value, isDefault, valueAt, choose, disabled }: SliderProps) {
  return (
    <fieldset class={name} disabled={disabled}>
      <legend>{label}</legend>
      <input type="range" step={1} {...range} aria-label={label} aria-valuetext={`${value ?? "default"}: ${hint}`} onInput={(event) => choose(valueAt(event.currentTarget.valueAsNumber))} />
      <span class="with">
        <input type="number" step="any" value={value ?? ""} placeholder="default" aria-label={`${label} as a number`} onChange={(event) => choose(event.currentTarget.valueAsNumber)} />
        <button type="button" aria-label={`Reset ${label.toLowerCase()}`} disabled={isDefault} onClick={() => choose(null)}>
          Reset
        </button>
      </span>
      <p class="hint">{hint}</p>
    </fieldset>
  );
}

function GoalControl({ state, choices, change }: Props) {
  const { low, high } = choices.goals ?? { low: 1, high: 10 };
  const goal = state.goal ?? choices.ownGoal;
  return (
    <Slider
      name="goal"
      label="Goal"
      range={{ min: 0, max: POSITIONS, value: goal === null ? 0 : Math.round((POSITIONS * Math.log(goal / low)) / Math.log(high / low)) }}
      hint={!choices.goals ? "Nothing drawn has a goal" : state.goal === null ? "Each workload’s own goal" : "The same goal for all"}
      value={goal}
      isDefault={state.goal === null}
      valueAt={(position) => Number((low * (high / low) ** (position / POSITIONS)).toPrecision(3))}
      choose={(value) => change({ goal: Number.isFinite(value) ? value : null })}
      disabled={!choices.goals}
    />
  );
}

function TrialsControl({ state, choices, change }: Props) {
  const most = Math.max(choices.mostTrials, 1);
  return (
    <Slider
      name="trials"
      label="Trials per search"
      range={{ min: 1, max: most, value: state.trials ?? most }}
      hint={state.trials === null ? "Equal for all searches" : `Median of the best of ${state.trials}`}
      value={state.trials}
      isDefault={state.trials === null}
      valueAt={(position) => position}
      choose={(value) => change({ trials: Number.isSafeInteger(value) && value! > 0 ? value : null })}
      disabled={choices.mostTrials === 0}
    />
  );
}
