import { h } from 'preact'
import type { Index, Row } from './model'
import type { State } from './state'
import { time } from './time'

interface Props { ix: Index; state: State; lead: (row: number, fact?: number) => void }

// Answer says what a terminal says, in the same words and the same order. What tells of
// facts leads to them.
export function Answer({ ix, state, lead }: Props) {
  const verdicts: { rows: { row: Row; n: number }[] }[] = []
  ix.doc.rows.forEach((row, n) => {
    if (row.kind === 'subject' || verdicts.length === 0) verdicts.push({ rows: [] })
    verdicts[verdicts.length - 1].rows.push({ row, n })
  })
  return <div class="answers">{verdicts.map(v => <Verdict key={v.rows[0].n} rows={v.rows} ix={ix} state={state} lead={lead} />)}</div>
}

type Numbered = { row: Row; n: number }

function Verdict({ rows, ix, state, lead }: Props & { rows: Numbered[] }) {
  const of = (...kinds: string[]) => rows.filter(r => kinds.includes(r.row.kind))
  const head = of('subject')[0]?.row
  return <article class={'verdict' + (head?.good ? ' good' : '')}>
    {head && <h2><span class="who">{head.title}</span> <span class={'symptom ' + (head.good ? 'good' : 'bad')}>{head.tag}</span> {head.text && <span class="of">{head.text}</span>}</h2>}
    <div class="columns">
      <div class="told">
        {of('cause').map(r => <p class="cause" key={r.n}><Leads r={r} lead={lead} chosen={!state.chosen && state.verdict === r.n} /></p>)}
        {of('known').map(r => <p class="known" key={r.n}>{r.row.text}</p>)}
        <Section rows={of('alike')} lead={lead} />
        <ol class="chain">
          {of('earlier').map(r => <li class="dim" key={r.n}>{r.row.text}</li>)}
          {of('link').map(r => <li key={r.n}>
            <button class={'link' + (isChosen(ix, state, r.row) ? ' chosen' : '')} onClick={() => lead(r.n, r.row.facts?.[0])}>
              <time dateTime={r.row.at}>{time(Date.parse(r.row.at!), state.clock, ix.doc.trouble[1])}</time> <span>{r.row.text}</span>
            </button>
          </li>)}
        </ol>
      </div>
      <div class="beside">
        <Section rows={of('words')} lead={lead} />
        <Section rows={of('worse')} lead={lead} />
        <Section rows={of('ruledOut')} lead={lead} />
        <Fixes rows={of('do', 'command')} />
        {of('well').map(r => <p class="dim" key={r.n}>{r.row.text}</p>)}
        {of('gap').map(r => <p class="dim" key={r.n}>not seen: {clock(ix, state, r.row.at)} to {clock(ix, state, r.row.until)}: {r.row.text}</p>)}
      </div>
    </div>
  </article>
}

const clock = (ix: Index, state: State, t?: string) => t ? time(Date.parse(t), state.clock, ix.doc.trouble[1]) : '?'

const isChosen = (ix: Index, s: State, r: Row) => s.chosen !== undefined && s.chosen.pod === ix.podOf(r) && s.chosen.fact === r.facts?.[0]

function Leads({ r, lead, chosen }: { r: Numbered; lead: Props['lead']; chosen?: boolean }) {
  if (!r.row.facts?.length) return <span>{r.row.text}</span>
  return <button class={'leads' + (chosen ? ' drawn' : '')} onClick={() => lead(r.n)} title="show it on the timeline">{r.row.text}</button>
}

function Section({ rows, lead }: { rows: Numbered[]; lead: Props['lead'] }) {
  if (rows.length === 0) return null
  return <section class={'part ' + rows[0].row.kind}>
    <h3>{rows[0].row.title}</h3>
    <ul>{rows.map(r => <li key={r.n}><Leads r={r} lead={lead} /></li>)}</ul>
  </section>
}

function Fixes({ rows }: { rows: Numbered[] }) {
  if (rows.length === 0) return null
  return <section class="part do">
    <h3>{rows[0].row.title}</h3>
    {rows.map(r => r.row.kind === 'do'
      ? <p key={r.n}><span class={'tag ' + r.row.tag?.replace(/\W/g, '')}>{r.row.tag}</span> {r.row.text}</p>
      : <code key={r.n}>{r.row.text}</code>)}
  </section>
}
