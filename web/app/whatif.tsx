import { h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Index, Trial, Tried } from './model'
import type { State } from './state'
import { span } from './time'

interface Props { ix: Index; show: (t: State['tried']) => void }

// WhatIf has a slider for each setting that was tried. Every place of the sliders was
// replayed by the rules of pod health when the page was made: nothing is computed here.
export function WhatIf({ ix, show }: Props) {
  const all = ix.doc.pods.flatMap((p, pod) => (p.whatIf ?? []).map(trial => ({ pod, trial })))
  const [n, setN] = useState(-1)
  useEffect(() => { if (n < 0) show(undefined) }, [n])
  if (all.length === 0) return null
  const name = (x: typeof all[0]) => (ix.doc.pods.length > 1 ? ix.doc.pods[x.pod].name + ' ' : '') + x.trial.container + ': ' + x.trial.settings[0].field.split('.')[0].replace('resources', 'memory limit')
  return <section class="whatif" aria-label="What if">
    <div class="which"><h3>What if other settings had been tried?</h3>
      <div class="choice" role="group" aria-label="Which settings">
        {all.map((x, i) => <button key={i} aria-pressed={n === i} onClick={() => setN(n === i ? -1 : i)}>{name(x)}</button>)}
      </div>
    </div>
    {n >= 0 && all[n] && <Sliders key={n} pod={all[n].pod} trial={all[n].trial} show={show} />}
  </section>
}

function Sliders({ pod, trial, show }: { pod: number; trial: Trial; show: Props['show'] }) {
  const [at, setAt] = useState(trial.settings.map(s => Math.max(s.now, 0)))
  let i = 0
  trial.settings.forEach((s, k) => { i = i * s.values.length + at[k] })
  const r: Tried | undefined = trial.results[trial.grid[i]]
  useEffect(() => { show(r && { pod, container: trial.container, restarts: r.restarts }) }, [r])
  const ask = trial.settings.filter((s, k) => at[k] !== s.now).map(s => `${trial.container}:${s.field}=${s.values[at[trial.settings.indexOf(s)]]}`).join(',')
  return <div class="sliders">
    <div>{trial.settings.map((s, k) => <label key={s.field}>
      <span>{s.field.split('.').slice(1).join('.')}</span>
      <input type="range" min={0} max={s.values.length - 1} step={1} value={at[k]}
        aria-valuetext={s.values[at[k]] + (at[k] === s.now ? ', as it is' : '')}
        onInput={(e: Event) => setAt(at.map((x, j) => j === k ? +(e.currentTarget as HTMLInputElement).value : x))} />
      <output>{s.values[at[k]]}{at[k] === s.now && <small> as it is</small>}</output>
    </label>)}</div>
    <div class="outcome" aria-live="polite">{r ? <Result r={r} /> : <p>The API server would refuse this.</p>}
      {ask && <code>--what-if {ask}</code>}</div>
  </div>
}

const words: [string, string, string][] = [
  ['would-not-have-been', '\u2713', 'would not have been'], ['would-have-been', '=', 'would have been all the same'],
  ['not-known', '?', 'may or may not have been: the record does not say'], ['would-have-been-added', '+', 'would have come on top'],
]

function Result({ r }: { r: Tried }) {
  const out = r.outOfService
  return <div>
    <ul>{words.map(([outcome, sign, text]) => {
      const n = r.restarts.filter(x => x.outcome === outcome).length
      return n > 0 && <li key={outcome} class={outcome}><i aria-hidden="true">{sign}</i> <b>{n}</b> {n === 1 ? 'restart' : 'restarts'} {text}</li>
    })}{r.restarts.length === 0 && <li>no restart, with these settings or those that were</li>}</ul>
    {out.wasSeconds + out.atMostSeconds > 0 && <p>out of service: was {span(out.wasSeconds * 1000)}, would have been {out.atLeastSeconds === out.atMostSeconds ? span(out.atMostSeconds * 1000) : `${span(out.atLeastSeconds * 1000)} to ${span(out.atMostSeconds * 1000)}`}</p>}
    {r.notKnown?.map(t => <p class="dim" key={t}>not known: {t}</p>)}
  </div>
}
