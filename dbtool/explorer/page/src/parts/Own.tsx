/** Curves of the person's own beside those of the page; files stay in the browser. */

import type { OwnCurve } from "../data/own";

interface Props {
  own: readonly OwnCurve[];
  take: (files: Iterable<File>) => void;
  remove: (gone: OwnCurve) => void;
}

export function Own({ own, take, remove }: Props) {
  const chosen = (input: HTMLInputElement) => {
    take([...(input.files ?? [])]);
    // So that the same file can be chosen again.
    input.value = "";
  };
  return (
    <section class="drop" aria-labelledby="own-title">
      <h2 id="own-title">Your own</h2>
      <p>
        Drop a CSV here or{" "}
        <label>
          choose a file
          <input type="file" accept=".csv,text/csv" multiple onChange={(event) => chosen(event.currentTarget)} />
        </label>
        : batch_size and steps, or batch_size, step and a metric such as val_classification_error. It does not leave this machine.
      </p>
      <ul>
        {own.map((each) => (
          <li key={each.label}>
            {each.label}
            <button type="button" aria-label={`Remove ${each.label}`} onClick={() => remove(each)}>
              Remove
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
