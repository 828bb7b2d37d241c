import { h } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Painter, heights, hit, look, scale, type Look, type Strip } from './draw'
import { wellOrDone, type Index, type Lane, type Mark, type Place } from './model'
import { lit, type Arrow, type State } from './state'
import { amount, span, ticks, time } from './time'
import type { View } from './view'

export interface Props {
  ix: Index; view: View; state: State
  choose: (p: Place | undefined, focus?: boolean) => void
  unfold: (pod: number) => void
}

interface Group { pod: number; name: string; lanes: { lane: Lane; n: number }[] }

// groups are what is drawn together. A pod that is folded has its runs only.
function groups(ix: Index, open: ReadonlySet<number>): Group[] {
  const all: Group[] = []
  ix.doc.pods.forEach((p, pod) => {
    if (!open.has(pod)) {
      const lanes = p.lanes.map((lane, n) => ({ lane: { ...lane, name: lane.group }, n })).filter(({ lane }) => lane.id.endsWith('/runs'))
      all.push({ pod, name: '', lanes })
      return
    }
    if (p.lanes.length === 0) all.push({ pod, name: '', lanes: [] })
    p.lanes.forEach((lane, n) => {
      const last = all[all.length - 1]
      if (last && last.pod === pod && last.name === lane.group) last.lanes.push({ lane, n })
      else all.push({ pod, name: lane.group, lanes: [{ lane, n }] })
    })
  })
  return all
}

const title = (ix: Index, g: Group) => {
  const p = ix.doc.pods[g.pod]
  const fixed = ['Pod', 'Around', 'Node', 'Other', 'Pods']
  const own = g.name === 'Around' ? 'Words and people' : g.name === 'Node' && p.node ? 'Node ' + p.node : fixed.includes(g.name) ? g.name : 'Container ' + g.name
  return own
}

// useDraw draws now, whenever the view moves, and when the place gets another size.
function useDraw(view: View, draw: () => void, deps: unknown[]) {
  const latest = useRef(draw)
  latest.current = draw
  useLayoutEffect(() => {
    const run = () => latest.current()
    run()
    const stop = view.listen(run)
    addEventListener('resize', run)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', run)
    addEventListener('beforeprint', run)
    return () => { stop(); removeEventListener('resize', run); removeEventListener('beforeprint', run); dark.removeEventListener('change', run) }
  }, deps)
}

// sized gives a canvas's context in CSS pixels.
function sized(canvas: HTMLCanvasElement, height: number): { c: CanvasRenderingContext2D; w: number } {
  const dpr = Math.min(Math.max(devicePixelRatio || 1, matchMedia('print').matches ? 3 : 1), 3)
  const w = canvas.clientWidth
  if (canvas.width !== Math.round(w * dpr) || canvas.height !== Math.round(height * dpr)) {
    canvas.width = Math.round(w * dpr)
    canvas.height = Math.round(height * dpr)
  }
  const c = canvas.getContext('2d')!
  c.setTransform(dpr, 0, 0, dpr, 0, 0)
  c.clearRect(0, 0, w, height)
  return { c, w }
}

const narrow = () => innerWidth < 700
const above = () => narrow() ? 15 : 0

function strips(g: Group): { all: (Strip & { n: number })[]; height: number } {
  let top = 0
  const all = g.lanes.map(({ lane, n }) => {
    const s = { lane, n, top: top + above(), height: heights[lane.form], scale: scale(lane) }
    top += s.height + above()
    return s
  })
  return { all, height: top }
}

function Lanes({ g, ix, view, state, choose, light, hover }: Props & { g: Group; light: Set<Mark>; hover: (h: Hover | undefined) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const painter = useRef<Painter>()
  const [wide, setWide] = useState(innerWidth)
  useEffect(() => {
    const f = () => setWide(innerWidth)
    addEventListener('resize', f)
    return () => removeEventListener('resize', f)
  }, [])
  const { all, height } = useMemo(() => strips(g), [g, wide < 700])
  useDraw(view, () => {
    if (!canvas.current) return
    const k = look()
    const { c, w } = sized(canvas.current, height)
    const p = painter.current = new Painter(c, k, w, view)
    backdrop(c, k, p, view, w, height, state, ix)
    const has = { has: (m: Mark) => light.has(m) }
    for (const s of all) p.strip(s, light.size > 0 ? has : undefined)
    outcomes(c, k, p, all, state, g.pod)
    ring(c, k, p, all, state, g.pod)
  }, [g, light, state, height])

  const find = (e: PointerEvent | MouseEvent): Place | undefined => {
    const at = canvas.current!.getBoundingClientRect()
    const y = e.clientY - at.top
    const s = all.find(s => y >= s.top - above() && y < s.top + s.height)
    if (!s || !painter.current) return undefined
    const mark = hit(s, painter.current, e.clientX - at.left, y)
    return mark < 0 ? undefined : { pod: g.pod, lane: s.n, mark }
  }
  const drag = useDrag(view, canvas, e => choose(find(e)))
  return <div class="lanes">
    <div class="names">
      {all.map(s => <div class={'name ' + s.lane.form + (s.lane.id.startsWith('pod/') ? ' pods' : '')} style={{ height: s.height + above() + 'px' }} key={s.lane.id}>
        <span>{s.lane.name.replace(/([a-z])([A-Z])|([/.])/g, '$1$3\u200b$2')}</span>
        {s.lane.curves && s.lane.curves.length > 1 && <small>{s.lane.curves.map((c, i) => <i class={'curve c' + i} key={c.name}>{c.name}</i>)}</small>}
        {s.lane.curves && s.lane.curves.length > 0 && <small>at most {amount(s.scale.most, s.lane.unit)}</small>}
        {s.lane.form === 'heights' && <small>how long answers took</small>}
      </div>)}
    </div>
    <canvas ref={canvas} style={{ height: height + 'px' }} aria-hidden="true" {...drag}
      onPointerMove={(e: PointerEvent) => {
        drag.onPointerMove(e)
        const p = e.pointerType === 'mouse' && e.buttons === 0 ? find(e) : undefined
        hover(p && { x: e.clientX, y: e.clientY, place: p })
        canvas.current!.style.cursor = p ? 'pointer' : 'grab'
      }}
      onPointerLeave={() => hover(undefined)} />
  </div>
}

interface Hover { x: number; y: number; place: Place }

// backdrop has the lines of the clock and the time that nobody saw later than.
function backdrop(c: CanvasRenderingContext2D, k: Look, p: Painter, view: View, w: number, height: number, state: State, ix: Index) {
  c.fillStyle = k.line
  for (const t of ticks(view.from, view.until, w / 90, state.clock, ix.doc.trouble[1])) c.fillRect(Math.round(p.x(t.t)), 0, 1, height)
  const now = p.x(ix.doc.asOf)
  if (now < w) {
    c.fillStyle = k.raised
    c.fillRect(now, 0, w - now, height)
  }
}

// ring marks what is chosen.
function ring(c: CanvasRenderingContext2D, k: Look, p: Painter, all: (Strip & { n: number })[], state: State, pod: number) {
  const place = state.chosen?.place
  const s = place && place.pod === pod && all.find(s => s.n === place.lane)
  if (!s) return
  const m = s.lane.marks[place.mark]
  if (!m) return
  const x = p.x(m.at)
  const right = m.shape === 'bar' || m.shape === 'hatched' || m.shape === 'absent' || m.shape === 'band' ? Math.max(p.x(m.until ?? m.at), x + 3) : x
  c.strokeStyle = k.accent
  c.lineWidth = 2
  c.beginPath()
  const pad = right > x ? 2 : 8
  c.roundRect(x - pad, s.top + 2, right - x + 2 * pad, s.height - 4, 5)
  c.stroke()
}

const signs: Record<string, string> = { 'would-not-have-been': '\u2713', 'would-have-been': '=', 'not-known': '?', 'would-have-been-added': '+' }

// outcomes are what other settings would have made of each restart.
function outcomes(c: CanvasRenderingContext2D, k: Look, p: Painter, all: Strip[], state: State, pod: number) {
  const t = state.tried
  if (!t || t.pod !== pod) return
  const s = all.find(s => s.lane.id === t.container + '/runs')
  if (!s) return
  c.font = 'bold 12px ' + k.font.slice(5)
  c.textAlign = 'center'
  c.textBaseline = 'middle'
  for (const r of t.restarts) {
    const tone = r.outcome === 'would-not-have-been' ? 'good' : r.outcome === 'not-known' ? 'warn' : 'bad'
    const x = p.x(r.at)
    const y = s.top + s.height / 2
    c.beginPath()
    c.arc(x, y, 8.5, 0, 7)
    c.fillStyle = k.paper
    c.fill()
    c.lineWidth = 2
    c.strokeStyle = c.fillStyle = k.tones[tone]
    c.stroke()
    c.fillText(signs[r.outcome] ?? '?', x, y + 0.5)
  }
  c.textAlign = 'start'
}

// useDrag pans with one finger or the mouse, and zooms with two or the wheel.
function useDrag(view: View, canvas: { current: HTMLElement | null }, click: (e: PointerEvent) => void) {
  const fingers = useRef(new Map<number, number>())
  const moved = useRef(0)
  useEffect(() => {
    const wheel = (e: WheelEvent) => {
      const w = canvas.current!.clientWidth
      if (e.ctrlKey || e.metaKey || e.altKey) {
        e.preventDefault()
        const at = (e.clientX - canvas.current!.getBoundingClientRect().left) / w
        view.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0022)), at)
      } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        e.preventDefault()
        view.pan((e.deltaX || e.deltaY) / w)
      }
    }
    const el = canvas.current!
    el.addEventListener('wheel', wheel, { passive: false })
    return () => el.removeEventListener('wheel', wheel)
  }, [])
  const lift = (e: PointerEvent) => fingers.current.delete(e.pointerId)
  return {
    onPointerDown: (e: PointerEvent) => {
      if (e.button !== 0) return
      fingers.current.set(e.pointerId, e.clientX)
      moved.current = 0
      canvas.current!.setPointerCapture(e.pointerId)
    },
    onPointerMove: (e: PointerEvent) => {
      const was = fingers.current.get(e.pointerId)
      if (was === undefined) return
      const w = canvas.current!.clientWidth
      const left = canvas.current!.getBoundingClientRect().left
      const others = [...fingers.current.entries()].filter(([id]) => id !== e.pointerId)
      fingers.current.set(e.pointerId, e.clientX)
      if (others.length > 0) {
        const o = others[0][1]
        const before = Math.max(Math.abs(was - o), 10)
        const now = Math.max(Math.abs(e.clientX - o), 10)
        moved.current += 10
        view.zoom(now / before, ((e.clientX + o) / 2 - left) / w)
        return
      }
      moved.current += Math.abs(e.clientX - was)
      if (moved.current > 4) view.pan((was - e.clientX) / w)
    },
    onPointerUp: (e: PointerEvent) => {
      if (lift(e) && moved.current <= 4) click(e)
    },
    onPointerCancel: lift,
    onDblClick: (e: MouseEvent) => {
      const at = canvas.current!.getBoundingClientRect()
      view.zoom(e.shiftKey ? 1 / 3 : 3, (e.clientX - at.left) / at.width)
    },
  }
}

function Axis({ ix, view, state }: { ix: Index; view: View; state: State }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useDraw(view, () => {
    if (!canvas.current) return
    const k = look()
    const { c, w } = sized(canvas.current, 34)
    const x = (t: number) => (t - view.from) / view.span * w
    c.font = k.font
    c.textBaseline = 'middle'
    let end = -1e9
    for (const t of ticks(view.from, view.until, w / 90, state.clock, ix.doc.trouble[1])) {
      c.fillStyle = k.line
      c.fillRect(Math.round(x(t.t)), 28, 1, 6)
      if (x(t.t) < end) continue
      c.fillStyle = k.muted
      c.fillText(t.text, x(t.t) + 4, 25)
      end = x(t.t) + c.measureText(t.text).width + 10
      if (t.day) {
        c.fillStyle = k.fg
        c.fillText(t.day, Math.max(x(t.t), 0) + 4, 9)
      }
    }
  }, [ix, state])
  return <div class="lanes axis"><div class="names"><span class="zone">{state.clock === 'utc' ? 'UTC' : state.clock === 'local' ? 'your time' : 'from the trouble'}</span></div><canvas ref={canvas} style={{ height: '34px' }} aria-hidden="true" /></div>
}

// Minimap is the whole time at a glance; what is seen of it can be dragged.
function Minimap({ ix, view }: { ix: Index; view: View }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const grip = useRef<number>()
  const whole = () => ({ from: view.first - (view.last - view.first) * 0.02 - 1, width: (view.last - view.first) * 1.04 + 2 })
  useDraw(view, () => {
    if (!canvas.current) return
    const k = look()
    const { c, w } = sized(canvas.current, 30)
    const all = whole()
    const x = (t: number) => (t - all.from) / all.width * w
    for (const p of ix.doc.pods) for (const l of p.lanes) {
      const runs = l.id.endsWith('/runs') || l.id.startsWith('pod/')
      for (const m of l.marks) {
        if (runs && m.shape === 'bar') {
          c.fillStyle = k.fills.calm
          c.fillRect(x(m.at), 9, Math.max(x(m.until ?? m.at) - x(m.at), 1), 12)
        } else if (m.tone === 'bad' && m.shape !== 'bar') {
          c.fillStyle = k.tones.bad
          c.globalAlpha = 0.7
          c.fillRect(x(m.at), l.form === 'heights' ? 22 : 4, 1.2, l.form === 'heights' ? 5 : 17)
          c.globalAlpha = 1
        }
      }
    }
    c.fillStyle = k.fg
    c.globalAlpha = 0.13
    c.fillRect(0, 0, x(view.from), 30)
    c.fillRect(x(view.until), 0, w, 30)
    c.globalAlpha = 1
    c.strokeStyle = k.accent
    c.lineWidth = 1.5
    c.strokeRect(Math.max(x(view.from), 0.75), 0.75, Math.max(Math.min(x(view.until), w - 1.5) - Math.max(x(view.from), 0), 3), 28.5)
  }, [ix])
  const at = (e: PointerEvent) => {
    const r = canvas.current!.getBoundingClientRect()
    const all = whole()
    return all.from + (e.clientX - r.left) / r.width * all.width
  }
  return <div class="lanes minimap"><div class="names"><span class="zone">all {span(view.last - view.first)}</span></div>
    <canvas ref={canvas} style={{ height: '30px' }} aria-hidden="true"
      onPointerDown={(e: PointerEvent) => {
        canvas.current!.setPointerCapture(e.pointerId)
        const t = at(e)
        grip.current = t > view.from && t < view.until ? t - view.from : view.span / 2
        view.set(t - grip.current, t - grip.current + view.span)
      }}
      onPointerMove={(e: PointerEvent) => {
        if (grip.current === undefined || e.buttons === 0) return
        const t = at(e) - grip.current
        view.set(t, t + view.span)
      }}
      onPointerUp={() => { grip.current = undefined }} /></div>
}

// Arrows join the marks that are lit, over all lanes.
function Arrows({ arrows, root, view, ix }: { arrows: Arrow[]; root: { current: HTMLElement | null }; view: View; ix: Index }) {
  const svg = useRef<SVGSVGElement>(null)
  useDraw(view, () => {
    if (!svg.current || !root.current) return
    const at = root.current.getBoundingClientRect()
    const spots = new Map<string, { x: number; y: number } | undefined>()
    const spot = (p: Place) => {
      const k = p.pod + '/' + p.lane + '/' + p.mark
      if (!spots.has(k)) spots.set(k, where(root.current!, at, view, ix, p))
      return spots.get(k)
    }
    const width = svg.current.clientWidth
    let d = ''
    let strong = ''
    for (const a of arrows.slice(0, 120)) {
      const from = spot(a.from)
      const to = spot(a.to)
      if (!from || !to || from.x < -width && to.x < -width || from.x > 2 * width && to.x > 2 * width) continue
      const path = curve(from, to)
      if (a.strong) strong += path
      else d += path
    }
    svg.current.querySelector('.weak')!.setAttribute('d', d)
    svg.current.querySelector('.strong')!.setAttribute('d', strong)
  }, [arrows])
  return <svg class="arrows" ref={svg} aria-hidden="true">
    <path class="weak" /><path class="strong" />
  </svg>
}

function curve(a: { x: number; y: number }, b: { x: number; y: number }): string {
  const r = (n: number) => Math.round(n * 10) / 10
  const bend = Math.min(Math.max(Math.abs(b.x - a.x) / 2, 14), 60)
  const same = Math.abs(a.y - b.y) < 4
  const up = same ? -16 : 0
  const tip = `M${r(b.x - 5)},${r(b.y + up / 3 - 4)}L${r(b.x)},${r(b.y)}L${r(b.x - 6)},${r(b.y + up / 3 + 3)}`
  return `M${r(a.x)},${r(a.y)}C${r(a.x + bend)},${r(a.y + up)} ${r(b.x - bend)},${r(b.y + up)} ${r(b.x)},${r(b.y)}${tip}`
}

// where is a mark's place within the lanes.
function where(root: HTMLElement, at: DOMRect, view: View, ix: Index, p: Place) {
  const canvas = root.querySelector<HTMLElement>(`[data-strip="${p.pod}/${ix.doc.pods[p.pod].lanes[p.lane].group}"] canvas`)
  if (!canvas) return undefined
  const box = canvas.getBoundingClientRect()
  const lanes = ix.doc.pods[p.pod].lanes
  let top = 0
  for (let n = 0; n < p.lane; n++) if (lanes[n].group === lanes[p.lane].group) top += heights[lanes[n].form] + above()
  const l = lanes[p.lane]
  const m = l.marks[p.mark]
  const h = heights[l.form]
  let y = top + above() + h / 2
  if (m.value !== undefined && l.form !== 'bars') y = top + above() + h - 4 - scale(l).y(m.value) * (h - 12)
  return { x: box.left - at.left + (m.at - view.from) / view.span * box.width, y: box.top - at.top + y }
}

export function Timeline(props: Props) {
  const { ix, view, state } = props
  const root = useRef<HTMLDivElement>(null)
  const [hover, setHover] = useState<Hover>()
  const all = useMemo(() => groups(ix, state.open), [ix, state.open])
  const { marks, arrows } = useMemo(() => lit(ix, state), [ix, state.chosen, state.verdict, state.open])
  let before = -1
  return <div class="timeline">
    <div class="clock"><Minimap ix={ix} view={view} /><Axis ix={ix} view={view} state={state} /></div>
    <div class="groups" ref={root} tabIndex={0} role="application" aria-roledescription="timeline"
      aria-label="Timeline. Arrow keys go from mark to mark and from lane to lane, plus and minus zoom, shift with arrows pans, 0 shows all, T the trouble, Escape lets go. The tables below have the same."
      onKeyDown={e => keys(e, props)}>
      {all.map(g => {
        const head = g.pod !== before && ix.doc.pods.length > 1
        before = g.pod
        const p = ix.doc.pods[g.pod]
        return <div key={g.pod + g.name}>
          {head && <h3 class="podname"><button aria-expanded={state.open.has(g.pod)} onClick={() => props.unfold(g.pod)}>
            <i aria-hidden="true">{state.open.has(g.pod) ? '\u25be' : '\u25b8'}</i> {p.kind.toLowerCase()} {p.namespace && p.namespace + '/'}{p.name}{p.node && p.kind === 'Pod' && <small> on {p.node}</small>} <span class={'symptom ' + (wellOrDone(p.symptom) ? 'good' : 'bad')}>{p.symptom ?? 'well'}</span></button></h3>}
          <section data-strip={g.pod + '/' + g.name} class="group">
            {g.name && <h4>{title(ix, g)}</h4>}
            {g.lanes.length > 0 && <Lanes {...props} g={g} light={marks} hover={setHover} />}
          </section>
        </div>
      })}
      <Arrows arrows={arrows} root={root} view={view} ix={ix} />
    </div>
    {hover && <Tip hover={hover} ix={ix} state={state} />}
  </div>
}

function Tip({ hover, ix, state }: { hover: Hover; ix: Index; state: State }) {
  const m = ix.mark(hover.place)
  const left = Math.min(hover.x + 14, innerWidth - 300)
  return <div class="tip" style={{ left: left + 'px', top: hover.y + 16 + 'px' }} aria-hidden="true">
    <b>{time(m.at, state.clock, ix.doc.trouble[1])}</b>
    {m.until !== undefined && m.until > m.at && <span> for {span(m.until - m.at)}</span>}
    <div>{brief(ix.words(hover.place.pod, m))}</div>
    {m.value !== undefined && <div class="dim">{amount(m.value, ix.doc.pods[hover.place.pod].lanes[hover.place.lane].unit)}{m.count && `, ${m.count} attempts`}</div>}
  </div>
}

const brief = (s: string) => s.length > 220 ? s.slice(0, 219) + '\u2026' : s

// keys moves from mark to mark, and the view.
function keys(e: KeyboardEvent, { ix, view, state, choose }: Props) {
  const place = state.chosen?.place
  const go = (p: Place | undefined) => { if (p) choose(p) }
  const use: Record<string, () => void> = {
    '+': () => view.zoom(1.6), '=': () => view.zoom(1.6), '-': () => view.zoom(1 / 1.6),
    w: () => view.zoom(1.6), s: () => view.zoom(1 / 1.6), a: () => view.pan(-0.2), d: () => view.pan(0.2),
    0: () => view.all(),
    t: () => view.set(...around(ix.doc.trouble)),
    Escape: () => choose(undefined),
    Enter: () => choose(place, true),
    ArrowLeft: () => e.shiftKey ? view.pan(-0.2) : go(beside(ix, view, place, -1)),
    ArrowRight: () => e.shiftKey ? view.pan(0.2) : go(beside(ix, view, place, 1)),
    ArrowUp: () => go(otherLane(ix, view, place, -1)),
    ArrowDown: () => go(otherLane(ix, view, place, 1)),
    Home: () => go(place && { ...place, mark: 0 }),
    End: () => go(place && { ...place, mark: ix.doc.pods[place.pod].lanes[place.lane].marks.length - 1 }),
  }
  const f = use[e.key]
  if (!f || e.ctrlKey || e.metaKey || e.altKey || e.key === 'Enter' && (e.target as Element).closest('button')) return
  e.preventDefault()
  f()
}

// around is a time with room on both sides.
export function around([from, until]: [number, number]): [number, number] {
  const margin = Math.max((until - from) * 0.25, 500)
  return [from - margin, until + margin]
}

function first(ix: Index, view: View): Place | undefined {
  for (let pod = 0; pod < ix.doc.pods.length; pod++) for (let lane = 0; lane < ix.doc.pods[pod].lanes.length; lane++) {
    const mark = nearest(ix.doc.pods[pod].lanes[lane], (view.from + view.until) / 2)
    if (mark >= 0) return { pod, lane, mark }
  }
  return undefined
}

function nearest(l: Lane, t: number): number {
  let best = -1
  l.marks.forEach((m, i) => { if (best < 0 || Math.abs(m.at - t) < Math.abs(l.marks[best].at - t)) best = i })
  return best
}

function beside(ix: Index, view: View, p: Place | undefined, by: number): Place | undefined {
  if (!p) return first(ix, view)
  const mark = p.mark + by
  return mark >= 0 && mark < ix.doc.pods[p.pod].lanes[p.lane].marks.length ? { ...p, mark } : undefined
}

function otherLane(ix: Index, view: View, p: Place | undefined, by: number): Place | undefined {
  if (!p) return first(ix, view)
  const t = ix.mark(p).at
  let { pod, lane } = p
  for (;;) {
    lane += by
    if (lane < 0) { if (--pod < 0) return undefined; lane = ix.doc.pods[pod].lanes.length - 1 }
    if (lane >= ix.doc.pods[pod].lanes.length) { if (++pod >= ix.doc.pods.length) return undefined; lane = 0 }
    const mark = nearest(ix.doc.pods[pod].lanes[lane], t)
    if (mark >= 0) return { pod, lane, mark }
  }
}
