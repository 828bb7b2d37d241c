import { h } from 'preact'
import { useState } from 'preact/hooks'
import type { Index, Lane, Place } from './model'
import type { State } from './state'
import { amount, span, time } from './time'

interface Props { ix: Index; state: State; choose: (p: Place) => void }

// Tables have every lane's marks as rows, for who does not see or does not point.
export function Tables({ ix, state, choose }: Props) {
  return <section class="tables" aria-label="Tables">
    <h2>The same as tables</h2>
    {ix.doc.pods.map((p, pod) => <div key={pod}>
      {ix.doc.pods.length > 1 && <h3>{p.kind.toLowerCase()} {p.name}</h3>}
      {p.lanes.map((l, lane) => <Table key={l.id} ix={ix} state={state} choose={choose} l={l} pod={pod} lane={lane} />)}
    </div>)}
  </section>
}

const fixed = ['Pod', 'Around', 'Node', 'Other', 'Pods']

function Table({ ix, state, choose, l, pod, lane }: Props & { l: Lane; pod: number; lane: number }) {
  const [open, setOpen] = useState(false)
  const points = (l.curves ?? []).reduce((n, c) => n + c.points.length, 0)
  const name = (fixed.includes(l.group) ? l.group : 'Container ' + l.group) + ': ' + l.name
  return <details onToggle={(e: Event) => setOpen((e.currentTarget as HTMLDetailsElement).open)}>
    <summary>{name} <span class="dim">{l.marks.length + points}</span></summary>
    {open && l.marks.length > 0 && <table>
      <thead><tr><th scope="col">when</th><th scope="col">how long</th><th scope="col">what</th>{l.unit && <th scope="col">value</th>}</tr></thead>
      <tbody>{l.marks.map((m, mark) => <tr key={mark}>
        <td><button onClick={() => choose({ pod, lane, mark })}>{time(m.at, state.clock, ix.doc.trouble[1])}</button></td>
        <td>{m.until !== undefined && m.until > m.at ? span(m.until - m.at) : ''}</td>
        <td>{m.label && <b>{m.label} </b>}{ix.words(pod, m)}{m.count ? ` (${m.count})` : ''}</td>
        {l.unit && <td>{m.value === undefined ? '' : amount(m.value, l.unit)}</td>}
      </tr>)}</tbody>
    </table>}
    {open && l.curves?.map(c => <table key={c.name}>
      <caption>{c.name}</caption>
      <thead><tr><th scope="col">when</th><th scope="col">value</th></tr></thead>
      <tbody>{c.points.map((p, i) => <tr key={i}><td>{time(p.t, state.clock, ix.doc.trouble[1])}</td><td>{amount(p.v, l.unit)}</td></tr>)}</tbody>
    </table>)}
  </details>
}
