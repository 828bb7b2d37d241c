import { h, render } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Answer } from './answer'
import { Detail } from './detail'
import { Index, type Doc, type Place } from './model'
import { chain, firstChain, type State } from './state'
import { Tables } from './tables'
import { day, type Clock } from './time'
import { Timeline, around } from './timeline'
import { View } from './view'
import { WhatIf } from './whatif'

// begin is what is seen at first: all, or the trouble where it would be a dot in it.
function begin(doc: Doc): View {
  const last = Math.max(doc.until, doc.from + 1)
  const v = new View(doc.from, last, doc.from, last)
  const [from, until] = doc.trouble
  if (until - from < (last - doc.from) / 12) {
    const width = Math.max((until - from) * 6, 45_000)
    const end = Math.min((from + until + width) / 2, last + width * 0.08)
    v.set(end - width, end)
  } else v.all()
  return v
}

function Page({ first, live }: { first: Doc; live?: string }) {
  const [doc, setDoc] = useState(first)
  const ix = useMemo(() => new Index(doc), [doc])
  const view = useRef<View>()
  view.current ??= begin(first)
  const v = view.current
  const [state, setState] = useState<State>({ clock: 'utc', verdict: firstChain(first) })
  const [focus, setFocus] = useState(0)
  const [following, setFollowing] = useState(Boolean(live))
  const [trouble, setTrouble] = useState('')

  const choose = useCallback((place: Place | undefined, look = false) => {
    if (!place) { setState(s => ({ ...s, chosen: undefined })); return }
    const m = ix.mark(place)
    setState(s => ({ ...s, chosen: { pod: place.pod, fact: m.facts?.[0] ?? 0, place } }))
    v.show(m.at, m.shape === 'bar' ? m.at : m.until ?? m.at)
    if (look) setFocus(n => n + 1)
  }, [ix])
  const chooseFact = useCallback((pod: number, fact: number) => {
    const place = ix.place(pod, fact)
    setState(s => ({ ...s, chosen: { pod, fact, place } }))
    if (place) v.show(ix.mark(place).at, ix.mark(place).at)
  }, [ix])
  // lead goes where a line of the answer points: to its fact, or to all of its chain.
  const lead = useCallback((row: number, fact?: number) => {
    const r = ix.doc.rows[row]
    const pod = ix.podOf(r)
    if (fact !== undefined) { chooseFact(pod, fact); return }
    setState(s => ({ ...s, chosen: undefined, verdict: row }))
    const at = chain(ix, row).map(c => ix.place(c.pod, c.fact)).filter(p => p !== undefined).map(p => ix.mark(p).at)
    if (at.length > 0) v.set(...around([Math.min(...at), Math.max(...at)]))
  }, [ix])

  useEffect(() => {
    if (!live || !following) return
    const again = setInterval(async () => {
      try {
        const r = await fetch(live)
        if (!r.ok) throw new Error(await r.text())
        const next = await r.json() as Doc
        setTrouble('')
        if (next.asOf === doc.asOf && next.until === doc.until) return
        const atEnd = v.until >= v.last
        const moved = next.until - v.last
        v.first = next.from
        v.last = next.until
        if (atEnd) v.set(v.from + moved, v.until + moved)
        setDoc(next)
        setState(s => ({
          ...s, verdict: firstChain(next),
          chosen: s.chosen && { ...s.chosen, place: new Index(next).place(s.chosen.pod, s.chosen.fact) },
        }))
      } catch (e) {
        setTrouble('no news: ' + (e instanceof Error ? e.message : e))
      }
    }, 2000)
    return () => clearInterval(again)
  }, [live, following, doc])

  const said = state.chosen?.place ? ix.words(state.chosen.pod, ix.mark(state.chosen.place)) : ''
  return <div class={'whole' + (state.chosen ? ' chosen' : '')}>
    <main>
      <h1 class="hidden">{document.title}</h1>
      <Answer ix={ix} state={state} lead={lead} />
      <section class="history" aria-label="Timeline">
        <div class="tools">
          <h2>What happened</h2>
          <div class="set" role="group" aria-label="View">
            <button onClick={() => v.set(...around(doc.trouble))}>Trouble</button>
            <button onClick={() => v.all()}>All</button>
            <button onClick={() => v.zoom(1.6)} aria-label="Zoom in">+</button>
            <button onClick={() => v.zoom(1 / 1.6)} aria-label="Zoom out">{'\u2212'}</button>
          </div>
          <div class="set" role="group" aria-label="Times">
            {(['utc', 'local', 'relative'] as Clock[]).map(c => <button key={c} aria-pressed={state.clock === c}
              onClick={() => setState(s => ({ ...s, clock: c }))}>{{ utc: 'UTC', local: 'Local', relative: 'Relative' }[c]}</button>)}
          </div>
          {live && <div class="set"><button aria-pressed={following} onClick={() => setFollowing(!following)}>Live</button></div>}
          {trouble && <span class="bad" role="status">{trouble}</span>}
          <span class="hint">drag to pan, Ctrl + wheel or pinch to zoom, arrow keys from mark to mark</span>
        </div>
        <WhatIf ix={ix} show={tried => setState(s => ({ ...s, tried }))} />
        <div class="stage">
          <Timeline ix={ix} view={v} state={state} choose={choose} />
          <Detail ix={ix} state={state} chooseFact={chooseFact} close={() => choose(undefined)} focus={focus} />
        </div>
      </section>
      <Tables ix={ix} state={state} choose={p => choose(p, true)} />
      <footer>{doc.pods.reduce((n, p) => n + p.total, 0)} facts, as of {day(doc.asOf, 'utc')} {new Date(doc.asOf).toISOString().slice(11, 19)} UTC{doc.pods[0]?.node && `, from node ${doc.pods[0].node}`}. Asked with <code>{doc.ask}</code></footer>
      <div class="hidden" role="status" aria-live="polite">{said}</div>
    </main>
  </div>
}

const data = document.getElementById('data')!
const root = document.getElementById('page')!
root.replaceChildren()
render(<Page first={JSON.parse(data.textContent!) as Doc} live={document.documentElement.dataset.live} />, root)
