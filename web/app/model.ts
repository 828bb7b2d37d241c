// The document as package timeline writes it, and what the page finds in it.

export type Shape = 'bar' | 'hatched' | 'absent' | 'band' | 'tick' | 'hollow' | 'cross' | 'dot' | 'diamond' | 'flag'
export type Tone = 'good' | 'bad' | 'warn' | 'calm' | 'plain'

export interface Mark {
  at: number; until?: number; shape: Shape; tone: Tone; label?: string; text?: string
  value?: number; count?: number; latency?: number[]; facts?: number[]; open?: boolean
}
export interface Point { t: number; v: number; f?: number; b?: boolean }
export interface Curve { name: string; style: 'area' | 'part' | 'line'; points: Point[] }
export interface Limit { name: string; from: number; until: number; value: number }
export interface Lane {
  id: string; group: string; name: string; form: 'bars' | 'heights' | 'curves'
  unit?: string; limits?: Limit[]; curves?: Curve[]; marks: Mark[]
}
export interface RawFact {
  id: number; at?: string; seen: string; kind: string; ctr?: string; try?: number; because?: number[]
  pod?: { namespace?: string; name?: string }; body?: unknown
}
export interface Recorded { text: string; fact: RawFact }
export interface Outcome { at: number; attempt: number; outcome: string; text: string }
export interface Tried {
  restarts: Outcome[]; notKnown?: string[]
  outOfService: { wasSeconds: number; atLeastSeconds: number; atMostSeconds: number }
}
export interface Knob { field: string; values: string[]; now: number }
export interface Trial { container: string; settings: Knob[]; results: Tried[]; grid: number[] }
export interface Pod {
  kind: string; namespace?: string; name: string; uid?: string; node?: string; symptom?: string
  lanes: Lane[]; facts: Record<string, Recorded>; total: number; whatIf?: Trial[]
}
export interface Row {
  kind: string; title?: string; tag?: string; text: string; line?: string; at?: string; until?: string
  facts?: number[]; pod?: string; good?: boolean
}
export interface Other { namespace?: string; name: string; symptom: string; text?: string }
export interface Doc {
  subject: { kind: string; namespace?: string; name: string }
  asOf: number; from: number; until: number; trouble: [number, number]; rows: Row[]; ask: string; pods: Pod[]
  others?: Other[]; page?: string
}

// wellOrDone are the symptoms that ask for nobody.
export const wellOrDone = (symptom?: string) => !symptom || symptom === 'Healthy' || symptom === 'Completed'

// Place says where a mark is: numbers of its pod, its lane there, and its own there.
export interface Place { pod: number; lane: number; mark: number }

// Ref names a fact: their numbers are a node's own, so two pods may have the same.
export interface Ref { pod: number; fact: number }

export const key = (pod: number, fact: number) => pod + ':' + fact

// Index finds marks by their facts, and what rests on a fact.
export class Index {
  private marks = new Map<string, Place>()
  private rests = new Map<string, number[]>()

  constructor(readonly doc: Doc) {
    doc.pods.forEach((p, pod) => {
      // A fact is the first mark that begins with it, or else the first that has it: an
      // end is on the lane of the runs, and only then among the last words.
      for (const own of [true, false]) {
        p.lanes.forEach((l, lane) => l.marks.forEach((m, mark) => (m.facts ?? []).forEach((f, i) => {
          const k = key(pod, f)
          if ((!own || i === 0 && m.count === undefined) && !this.marks.has(k)) this.marks.set(k, { pod, lane, mark })
        })))
      }
      for (const r of Object.values(p.facts)) {
        for (const on of r.fact.because ?? []) {
          const k = key(pod, on)
          const all = this.rests.get(k)
          if (all) all.push(r.fact.id)
          else this.rests.set(k, [r.fact.id])
        }
      }
    })
  }

  place(pod: number, fact: number): Place | undefined { return this.marks.get(key(pod, fact)) }

  mark(p: Place): Mark { return this.doc.pods[p.pod].lanes[p.lane].marks[p.mark] }

  fact(pod: number, fact: number): Recorded | undefined { return this.doc.pods[pod].facts[fact] }

  // below are the facts that rest on one.
  below(pod: number, fact: number): number[] { return this.rests.get(key(pod, fact)) ?? [] }

  // behind are the facts that one rests on, and those that these rest on, at most so many.
  behind(pod: number, fact: number, most = 40): number[] {
    const all: number[] = []
    const queue = [fact]
    while (queue.length > 0 && all.length < most) {
      for (const on of this.fact(pod, queue.shift()!)?.fact.because ?? []) {
        if (!all.includes(on)) { all.push(on); queue.push(on) }
      }
    }
    return all
  }

  // podOf is the number of the pod that a row of the answer is about, -1 where that is not
  // here: numbers of facts are a node's own, so another pod's would be taken for its.
  podOf(row: Row): number {
    if (!row.pod) return this.doc.pods.length > 0 ? 0 : -1
    return this.doc.pods.findIndex(p => p.name === row.pod || p.namespace + '/' + p.name === row.pod)
  }

  // said is the last mark of a pod's words that has a line of a log in it.
  said(pod: number, line: string): Place | undefined {
    const lanes = this.doc.pods[pod]?.lanes ?? []
    const lane = lanes.findIndex(l => l.id === 'words')
    const mark = lane < 0 ? -1 : lanes[lane].marks.findLastIndex(m => m.text?.includes(line))
    return mark < 0 ? undefined : { pod, lane, mark }
  }

  // unseen is the mark of a time that nobody saw, or of a step of the clock, nearest to a
  // time.
  unseen(pod: number, at: number): Place | undefined {
    let best: Place | undefined
    this.doc.pods[pod]?.lanes.forEach((l, lane) => l.marks.forEach((m, mark) => {
      if (l.group === 'Node' && (m.shape === 'absent' || m.shape === 'flag') && (!best || Math.abs(m.at - at) < Math.abs(this.mark(best).at - at))) best = { pod, lane, mark }
    }))
    return best
  }

  words(pod: number, m: Mark): string {
    if (m.text) return m.text
    const f = m.facts?.[0]
    return f === undefined ? m.label ?? '' : this.fact(pod, f)?.text ?? m.label ?? ''
  }
}

export const when = (f: RawFact) => Date.parse(f.at ?? f.seen)
