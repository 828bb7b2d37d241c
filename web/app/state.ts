// What the reader chose, and what is lit because of it.

import { Index, type Doc, type Mark, type Place, type Ref } from './model'
import type { Clock } from './time'

export interface State {
  clock: Clock
  chosen?: Ref & { place?: Place }
  // verdict is the row of the answer whose chain is drawn.
  verdict: number
  // open are the pods, by their numbers, of which all lanes are shown.
  open: ReadonlySet<number>
  tried?: { pod: number; container: string; restarts: { at: number; outcome: string }[] }
}

// chain are the facts of a row of the answer, those first that came first.
export function chain(ix: Index, row: number): Ref[] {
  const r = ix.doc.rows[row]
  if (!r?.facts) return []
  const pod = ix.podOf(r)
  return pod < 0 ? [] : r.facts.map(fact => ({ pod, fact }))
}

// firstChain is the row of the first verdict that has one here.
export const firstChain = (ix: Index) => ix.doc.rows.findIndex((r, i) => r.kind === 'cause' && chain(ix, i).length > 0)

// firstOpen are the pods that are open at first: of many the one that is told of first.
export function firstOpen(ix: Index): ReadonlySet<number> {
  if (ix.doc.pods.length <= 2) return new Set(ix.doc.pods.keys())
  const first = ix.doc.rows[firstChain(ix)]
  return new Set([first ? ix.podOf(first) : 0])
}

// opened is a set of pods with one more.
export const opened = (open: ReadonlySet<number>, pod: number): ReadonlySet<number> => open.has(pod) ? open : new Set([...open, pod])

// follow is the state on a newer document, in which pods may stand in another order.
export function follow(s: State, was: Doc, is: Doc): State {
  const ix = new Index(is)
  const now = (pod: number) => is.pods.findIndex(p => p.name === was.pods[pod].name && p.namespace === was.pods[pod].namespace)
  const pod = s.chosen ? now(s.chosen.pod) : -1
  return {
    ...s,
    verdict: is.rows[s.verdict]?.text === was.rows[s.verdict]?.text ? s.verdict : firstChain(ix),
    chosen: s.chosen && pod >= 0 ? { pod, fact: s.chosen.fact, place: ix.place(pod, s.chosen.fact) } : undefined,
    open: new Set(s.open.size > 0 && was.pods.length > 0 ? [...s.open].map(now).filter(pod => pod >= 0) : firstOpen(ix)),
  }
}

export interface Arrow { from: Place; to: Place; strong: boolean }

// lit are the marks to be seen first, and the arrows between them.
export function lit(ix: Index, s: State): { marks: Set<Mark>; arrows: Arrow[] } {
  const marks = new Set<Mark>()
  const arrows: Arrow[] = []
  const join = (pod: number, cause: number, effect: number, strong: boolean) => {
    const from = ix.place(pod, cause)
    const to = ix.place(pod, effect)
    if (!from || !to) return
    marks.add(ix.mark(from))
    marks.add(ix.mark(to))
    if (ix.mark(from) !== ix.mark(to)) arrows.push({ from, to, strong })
  }
  if (s.chosen) {
    const { pod, fact, place } = s.chosen
    if (place) marks.add(ix.mark(place))
    for (const f of place ? ix.mark(place).facts ?? [fact] : [fact]) {
      for (const g of [f, ...ix.behind(pod, f, 12)]) {
        for (const on of ix.fact(pod, g)?.fact.because ?? []) join(pod, on, g, g === f)
      }
      for (const after of ix.below(pod, f).slice(0, 40)) join(pod, f, after, true)
    }
    return { marks, arrows }
  }
  let before: Ref | undefined
  for (const r of chain(ix, s.verdict)) {
    const place = ix.place(r.pod, r.fact)
    if (!place) continue
    marks.add(ix.mark(place))
    if (before && ix.place(before.pod, before.fact)) join(r.pod, before.fact, r.fact, true)
    before = r
  }
  return { marks, arrows }
}
