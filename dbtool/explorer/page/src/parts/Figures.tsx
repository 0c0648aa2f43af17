/** The figures that `dbtool plot` draws: each with its points drawn here, its query and its rows. */

import { panelChart, panelsOf } from "../charts/figure";
import { facts } from "../facts";
import { type Figure, readFigures } from "../figures";
import { save } from "../save";
import { pasted, shellWord } from "../words";
import { Action, Chart, Folded, copied } from "./Card";
import { Legend } from "./Legend";
import { Table } from "./Table";
import { useRead } from "./reading";

/** Critical batch sizes of all workloads. */
export function Atlas() {
  const { value: all } = useRead("figures", "The figures", readFigures);
  const atlas = all?.figures.find((each) => each.name === "atlas");
  return atlas ? <One figure={atlas} /> : <p class="empty">{all ? "No critical batch size is available here." : "Reading the figures …"}</p>;
}

export function Figures({ name, choose }: { name: string | null; choose: (name: string) => void }) {
  const { value: all } = useRead("figures", "The figures", readFigures);
  if (!all) return <p class="empty">Reading the figures …</p>;
  const shown = all.figures.find((each) => each.name === name) ?? all.figures[0];
  const groups = Map.groupBy(all.figures, (each) => each.heading);
  return (
    <div class="figures">
      <nav aria-label="Figures">
        {[...groups].map(([heading, figures]) => (
          <section key={heading}>
            <h2>{heading}</h2>
            <ul>
              {figures.map((each) => (
                <li key={each.name}>
                  <button type="button" class="link" aria-current={each === shown ? "page" : undefined} onClick={() => choose(each.name)}>
                    {each.full_name}
                  </button>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {all.missing.length > 0 && (
          <details>
            <summary>No data here ({all.missing.length})</summary>
            <dl>
              {all.missing.map((each) => (
                <div key={each.full_name}>
                  <dt>{each.full_name}</dt>
                  <dd>{withCode(each.reason)}</dd>
                </div>
              ))}
            </dl>
          </details>
        )}
      </nav>
      {shown ? <One key={shown.name} figure={shown} /> : <p class="empty">No figure has data here.</p>}
    </div>
  );
}

/** A text with what stands between backticks as code. */
const withCode = (text: string) => text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part));

function One({ figure }: { figure: Figure }) {
  const command = [figure.command, ...facts.options.map(shellWord)].join(" ");
  const [first = "", ...rest] = figure.caption;
  return (
    <article class="card figure" aria-labelledby="figure-title">
      <h2 id="figure-title">{figure.full_name}</h2>
      <p class="about">{figure.question}</p>
      <div class="panels" role="img" aria-label={figure.alternative}>
        {panelsOf(figure).map(({ panel, rows }) => (
          <figure key={panel.number}>
            <figcaption>{panel.title}</figcaption>
            <small>{panel.goal}</small>
            <Chart draw={(width) => panelChart(panel, rows, width)} alt={panel.title || figure.label} />
            <Legend of={panel.legend} />
          </figure>
        ))}
      </div>
      <Legend of={figure.legend} />
      {[first.slice(figure.question.length), ...rest].map((each) => (
        <p key={each} class="about">
          {withCode(each)}
        </p>
      ))}
      <div class="actions">
        <Action label="CSV" hint={`Download the points of ${figure.label} as CSV`} act={() => save(`${figure.name}.csv`, figure.csv)} />
        <Action label="Copy SQL" hint={`Copy SQL of ${figure.label}`} act={() => copied(pasted(figure.sql), "SQL")} />
        <Action label="Copy command" hint={`Copy command of ${figure.label}`} act={() => copied(command, "command")} />
      </div>
      <p class="about">
        <code>{command}</code> draws it in print quality.
      </p>
      <details>
        <summary>SQL</summary>
        <pre tabIndex={0} aria-label={`SQL of ${figure.label}`}>
          <code>{figure.sql}</code>
        </pre>
      </details>
      <Folded title="Points" count={figure.rows.length}>
        {() => <Table label={`Points of ${figure.label}`} columns={figure.columns} rows={figure.rows} />}
      </Folded>
    </article>
  );
}
