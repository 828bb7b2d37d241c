import { h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { when, type Index, type Mark } from './model'
import type { State } from './state'
import { amount, day, span, time } from './time'

interface Props { ix: Index; state: State; chooseFact: (pod: number, fact: number) => void; close: () => void; focus: number }

// Detail tells of what is chosen: in words, what it rests on and what rests on it, as it
// was recorded, and the command that shows it.
export function Detail({ ix, state, chooseFact, close, focus }: Props) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => { if (focus) head.current?.focus() }, [focus])
  const chosen = state.chosen
  if (!chosen) return <aside class="detail empty" aria-label="Details"><p>Choose a mark or a line of the answer to see what was recorded, what it rests on, and what rests on it.</p><Legend /></aside>
  const { pod, fact, place } = chosen
  const m = place && ix.mark(place)
  const r = ix.fact(pod, fact)
  const lane = place && ix.doc.pods[pod].lanes[place.lane]
  const at = m?.at ?? (r ? when(r.fact) : 0)
  const rests = r?.fact.because ?? []
  const after = ix.below(pod, fact)
  return <aside class="detail" aria-label="Details">
    <header>
      <h2 ref={head} tabIndex={-1}>{m ? ix.words(pod, m).split('\n')[0] : r?.text}</h2>
      <button class="close" onClick={close} aria-label="Close details">{'\u00d7'}</button>
    </header>
    <p class="when"><time>{time(at, state.clock, ix.doc.trouble[1])}</time> <span class="dim">{day(at, state.clock === 'relative' ? 'utc' : state.clock)}</span>
      {m?.until !== undefined && m.until > m.at && <span> {m.open ? 'goes on, for' : 'for'} {span(m.until - m.at)} so far</span>}</p>
    {m?.text?.includes('\n') && <pre class="said">{m.text.slice(m.text.indexOf('\n') + 1)}</pre>}
    {m && <Numbers m={m} unit={lane?.unit} />}
    <Facts title="rests on" pod={pod} ids={rests} ix={ix} state={state} choose={chooseFact} />
    <Facts title="what rests on it" pod={pod} ids={after} ix={ix} state={state} choose={chooseFact} />
    {m?.facts && m.facts.length > 1 && <Facts title="all of this mark" pod={pod} ids={m.facts} ix={ix} state={state} choose={chooseFact} />}
    {r
      ? <details class="raw"><summary>{r.fact.kind} #{r.fact.id}, as it was recorded</summary><pre tabIndex={0}>{JSON.stringify(r.fact, null, 1)}</pre></details>
      : fact > 0 && <p class="dim">Fact #{fact} is not in this file: there were too many.</p>}
    {fact > 0 && <p class="command"><code>whylet journal show {fact}</code>{ix.doc.pods[pod].node && <span class="dim"> on node {ix.doc.pods[pod].node}</span>}</p>}
  </aside>
}

// Numbers are a mark's value, and the histogram of what was folded into it.
function Numbers({ m, unit }: { m: Mark; unit?: string }) {
  const bounds = ['1 ms', '2 ms', '5 ms', '10 ms', '20 ms', '50 ms', '100 ms', '200 ms', '500 ms', '1 s', '2 s', '5 s', '10 s', 'longer']
  const most = Math.max(...(m.latency ?? []), 1)
  return <div>
    {m.value !== undefined && <p>{m.count ? `${m.count} attempts, at most ` : ''}{amount(m.value, unit)}</p>}
    {m.latency && m.latency.length > 0 && <table class="histogram"><caption>how long they took</caption><tbody>{m.latency.map((n, i) => n > 0 &&
      <tr key={i}><th scope="row">{'\u2264'} {bounds[i]}</th><td><i style={{ width: Math.max(2, n / most * 100) + '%' }} /><span>{n}</span></td></tr>)}</tbody></table>}
  </div>
}

function Facts({ title, pod, ids, ix, state, choose }: { title: string; pod: number; ids: number[]; ix: Index; state: State; choose: Props['chooseFact'] }) {
  const some = ids.slice(0, 12)
  if (some.length === 0) return null
  return <section class="facts">
    <h3>{title}</h3>
    <ul>{some.map(id => {
      const r = ix.fact(pod, id)
      return <li key={id}>{r
        ? <button onClick={() => choose(pod, id)}><time>{time(when(r.fact), state.clock, ix.doc.trouble[1])}</time> <span>{r.text}</span></button>
        : <span class="dim">#{id}, not in this file</span>}</li>
    })}</ul>
    {ids.length > some.length && <p class="dim">and {ids.length - some.length} more</p>}
  </section>
}

const legend: [string, string][] = [
  ['\u25c6', 'the node decided'], ['\u2715', 'an end by force, or a failure'], ['\u25cf', 'something was done'], ['\u25cb', 'asked once more with patience; looked into'],
  ['\u2590', 'an attempt, as high as it took long'], ['\u25a8', 'waits (back-off)'], ['\u2592', 'nobody looked'], ['\u2691', 'somebody said or changed something'],
]

function Legend() {
  return <dl class="legend">{legend.map(([sign, text]) => <div key={sign}><dt aria-hidden="true">{sign}</dt><dd>{text}</dd></div>)}</dl>
}
