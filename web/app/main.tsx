import { h, render } from 'preact'
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Answer } from './answer'
import { Detail } from './detail'
import { Index, type Doc, type Place } from './model'
import { Others } from './others'
import { chain, firstChain, firstOpen, follow, opened, type State } from './state'
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
  const [state, setState] = useState<State>(() => ({ clock: 'utc', verdict: firstChain(ix), open: firstOpen(ix) }))
  const [focus, setFocus] = useState(0)
  const [following, setFollowing] = useState(Boolean(live))
  const [trouble, setTrouble] = useState('')

  const choose = useCallback((place: Place | undefined, look = false) => {
    if (!place) { setState(s => ({ ...s, chosen: undefined })); return }
    const m = ix.mark(place)
    setState(s => ({ ...s, chosen: { pod: place.pod, fact: m.facts?.[0] ?? 0, place }, open: opened(s.open, place.pod) }))
    v.show(m.at, m.shape === 'bar' ? m.at : m.until ?? m.at)
    if (look) setFocus(n => n + 1)
  }, [ix])
  const chooseFact = useCallback((pod: number, fact: number) => {
    const place = ix.place(pod, fact)
    setState(s => ({ ...s, chosen: { pod, fact, place }, open: opened(s.open, pod) }))
    if (place) v.show(ix.mark(place).at, ix.mark(place).at)
  }, [ix])
  // lead goes where a line of the answer points: to its fact, to all of its chain, to who
  // said it, or to when it was.
  const lead = useCallback((row: number, fact?: number) => {
    const r = ix.doc.rows[row]
    const pod = ix.podOf(r)
    if (pod < 0) return
    if (fact === undefined && r.kind !== 'cause' && r.facts?.length === 1) fact = r.facts[0]
    if (fact !== undefined) { chooseFact(pod, fact); return }
    if (!r.facts?.length) {
      const place = r.kind === 'words' ? ix.said(pod, r.line ?? r.text) : r.kind === 'gap' && r.at ? ix.unseen(pod, Date.parse(r.at)) : undefined
      if (place) choose(place)
      else if (r.at) v.show(Date.parse(r.at), Date.parse(r.until ?? r.at))
      return
    }
    setState(s => ({ ...s, chosen: undefined, verdict: row, open: opened(s.open, pod) }))
    const at = chain(ix, row).map(c => ix.place(c.pod, c.fact)).filter(p => p !== undefined).map(p => ix.mark(p).at)
    if (at.length > 0) v.set(...around([Math.min(...at), Math.max(...at)]))
  }, [ix])
  const unfold = useCallback((pod: number) => setState(s => {
    const open = new Set(s.open)
    if (!open.delete(pod)) open.add(pod)
    return { ...s, open }
  }), [])

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
        setState(s => follow(s, doc, next))
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
      {doc.page && <nav><a href={doc.page + '?' + new URLSearchParams({ namespace: doc.subject.namespace ?? '' })}>All that is not well{doc.subject.namespace && ' in ' + doc.subject.namespace}</a></nav>}
      <Answer ix={ix} state={state} lead={lead} />
      {doc.pods.length === 0 && <p class="history dim">Nothing that was recorded came along, so there is no timeline.</p>}
      {doc.pods.length > 0 && <section class="history" aria-label="Timeline">
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
          {doc.pods.length > 1 && <div class="set"><button aria-pressed={state.open.size === doc.pods.length}
            onClick={() => setState(s => ({ ...s, open: new Set(s.open.size === doc.pods.length ? [] : doc.pods.keys()) }))}>All pods open</button></div>}
          {live && <div class="set"><button aria-pressed={following} onClick={() => setFollowing(!following)}>Live</button></div>}
          {trouble && <span class="bad" role="status">{trouble}</span>}
          <span class="hint">drag to pan, Ctrl + wheel or pinch to zoom, arrow keys from mark to mark</span>
        </div>
        <WhatIf ix={ix} show={tried => setState(s => ({ ...s, tried }))} />
        <div class="stage">
          <Timeline ix={ix} view={v} state={state} choose={choose} unfold={unfold} />
          <Detail ix={ix} state={state} chooseFact={chooseFact} close={() => choose(undefined)} focus={focus} />
        </div>
      </section>}
      <Others doc={doc} />
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
