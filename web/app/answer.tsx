import { h, type ComponentChildren } from 'preact'
import type { Index, Row } from './model'
import type { State } from './state'
import { time } from './time'

interface Props { ix: Index; state: State; lead: (row: number, fact?: number) => void }

// mostWhole is how many verdicts are shown whole. Of more, which workloads have, all but the
// first are folded to their sentence, so that the timeline is not out of sight.
const mostWhole = 3

// Answer says what a terminal says, in the same words and the same order. What tells of
// facts leads to them.
export function Answer({ ix, state, lead }: Props) {
  const verdicts: { rows: { row: Row; n: number }[] }[] = []
  ix.doc.rows.forEach((row, n) => {
    if (row.kind === 'subject' || verdicts.length === 0) verdicts.push({ rows: [] })
    verdicts[verdicts.length - 1].rows.push({ row, n })
  })
  return <div class="answers">{verdicts.map((v, i) => <Verdict key={v.rows[0].n} rows={v.rows} brief={i > 0 && verdicts.length > mostWhole} ix={ix} state={state} lead={lead} />)}</div>
}

type Numbered = { row: Row; n: number }

function Verdict({ rows, brief, ix, state, lead }: Props & { rows: Numbered[]; brief: boolean }) {
  const of = (...kinds: string[]) => rows.filter(r => kinds.includes(r.row.kind))
  const head = of('subject')[0]?.row
  const here = ix.podOf(rows[0].row) >= 0 // else its facts are not
  const cause = of('cause').map(r => <p class="cause" key={r.n}><Leads r={r} here={here} lead={lead} chosen={!state.chosen && state.verdict === r.n} /></p>)
  return <article class={'verdict' + (head?.good ? ' good' : '')}>
    {head && <h2><span class="who">{head.title}</span> <span class={'symptom ' + (head.good ? 'good' : 'bad')}>{head.tag}</span> {head.text && <span class="of">{head.text}</span>}</h2>}
    {brief && cause}
    <Folded brief={brief}><div class="columns">
      <div class="told">
        {!brief && cause}
        {of('known').map(r => <p class="known" key={r.n}>{r.row.text}</p>)}
        <Section rows={of('alike')} here={here} lead={lead} />
        <Section rows={of('common')} here={here} lead={lead} />
        <ol class="chain">
          {of('earlier').map(r => <li class="dim" key={r.n}>{r.row.text}</li>)}
          {of('link').map(r => <li key={r.n}>
            <button class={'link' + (isChosen(ix, state, r.row) ? ' chosen' : '')} disabled={!here} onClick={() => lead(r.n, r.row.facts?.[0])}>
              <time dateTime={r.row.at}>{time(Date.parse(r.row.at!), state.clock, ix.doc.trouble[1])}</time> <span>{r.row.text}</span>
            </button>
          </li>)}
        </ol>
        <Hops rows={of('hop')} here={here} ix={ix} state={state} lead={lead} />
      </div>
      <div class="beside">
        <Section rows={of('words')} here={here} lead={lead} />
        <Section rows={of('worse')} here={here} lead={lead} />
        <Section rows={of('ruledOut')} here={here} lead={lead} />
        <Fixes rows={of('do', 'command')} />
        {of('gap').map(r => <p class="dim" key={r.n}><button class="leads" onClick={() => lead(r.n)}>not seen: {clock(ix, state, r.row.at)} to {clock(ix, state, r.row.until)}</button>: {r.row.text}</p>)}
      </div>
    </div></Folded>
    {of('well').map(r => <p class="dim" key={r.n}>{r.row.text}</p>)}
  </article>
}

function Folded({ brief, children }: { brief: boolean; children: ComponentChildren }) {
  return brief ? <details><summary>what shows it, and what to do</summary>{children}</details> : <div>{children}</div>
}

const clock = (ix: Index, state: State, t?: string) => t ? time(Date.parse(t), state.clock, ix.doc.trouble[1]) : '?'

const isChosen = (ix: Index, s: State, r: Row) => s.chosen !== undefined && s.chosen.pod === ix.podOf(r) && s.chosen.fact === r.facts?.[0]

// Hops are the pods and Services that a chain leads to, each with what shows its trouble.
// Their facts are in pages of their own; a time leads to that moment here.
function Hops({ rows, here, ix, state, lead }: Props & { rows: Numbered[]; here: boolean }) {
  if (rows.length === 0) return null
  const hops: { head: Numbered; links: Numbered[] }[] = []
  for (const r of rows) {
    if (r.row.at) hops[hops.length - 1]?.links.push(r)
    else hops.push({ head: r, links: [] })
  }
  return <section class="part hop">
    <h3>{rows[0].row.title}</h3>
    <ol>{hops.map(({ head, links }) => <li key={head.n}>
      <p>{head.row.text}</p>
      <ol class="chain">{links.map(r => <li key={r.n}><button class="link" disabled={!here} onClick={() => lead(r.n)} title="show that moment on the timeline">
        <time dateTime={r.row.at}>{clock(ix, state, r.row.at)}</time> <span>{r.row.text}</span>
      </button></li>)}</ol>
    </li>)}</ol>
  </section>
}

function Leads({ r, here, lead, chosen }: { r: Numbered; here: boolean; lead: Props['lead']; chosen?: boolean }) {
  if (!here || !r.row.facts?.length && r.row.kind !== 'words') return <span>{r.row.text}</span>
  return <button class={'leads' + (chosen ? ' drawn' : '')} onClick={() => lead(r.n)} title="show it on the timeline">{r.row.text}</button>
}

function Section({ rows, here, lead }: { rows: Numbered[]; here: boolean; lead: Props['lead'] }) {
  if (rows.length === 0) return null
  return <section class={'part ' + rows[0].row.kind}>
    <h3>{rows[0].row.title}</h3>
    <ul>{rows.map(r => <li key={r.n}><Leads r={r} here={here} lead={lead} /></li>)}</ul>
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
