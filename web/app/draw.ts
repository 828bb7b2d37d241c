// Lanes on a canvas. Shapes and words say what colours say, so that none of them is
// needed to read it.

import type { Curve, Lane, Mark, Tone } from './model'
import { amount } from './time'
import type { View } from './view'

export interface Look {
  fg: string; muted: string; line: string; paper: string; raised: string; accent: string
  tones: Record<Tone, string>; fills: Record<Tone, string>
  font: string
}

// look reads the colours of the style sheet, so that it alone knows them.
export function look(): Look {
  const style = getComputedStyle(document.documentElement)
  const get = (name: string) => style.getPropertyValue('--' + name).trim()
  const of = (suffix: string) => Object.fromEntries(['good', 'bad', 'warn', 'calm', 'plain'].map(t => [t, get(t + suffix)])) as Record<Tone, string>
  return {
    fg: get('fg'), muted: get('muted'), line: get('line'), paper: get('paper'), raised: get('raised'), accent: get('accent'),
    tones: of(''), fills: of('-fill'), font: `11px ${get('sans')}`,
  }
}

export const heights = { bars: 26, heights: 56, curves: 68 }

// Scale makes heights (0 to 1) of values; most is the greatest that there is.
export interface Scale { most: number; y: (v: number) => number }

// scale is how a lane's values become heights: as many as its limits and values need.
// Latencies have a root scale, so that the quick ones do not lie on the floor.
export function scale(l: Lane): Scale {
  let most = 0
  for (const x of l.limits ?? []) most = Math.max(most, x.value)
  if (l.form === 'heights') {
    for (const m of l.marks) most = Math.max(most, m.value ?? 0)
    most *= 1.1
    return { most, y: v => Math.sqrt(Math.min(v, most) / (most || 1)) }
  }
  let used = 0
  for (const c of l.curves ?? []) for (const p of c.points) used = Math.max(used, p.v)
  for (const m of l.marks) used = Math.max(used, m.value ?? 0)
  // A limit far above what is used would press the curve to the floor: then it is told, not drawn.
  most = most > used * 20 && used > 0 ? used * 1.3 : Math.max(most, used) * 1.12
  if (l.unit === 'share') most = Math.max(most, 0.2)
  return { most: used, y: v => Math.min(v / (most || 1), 1.5) }
}

export interface Strip { lane: Lane; top: number; height: number; scale: Scale }

export interface Lit { // what is lit: all is where it is undefined
  has(m: Mark): boolean
}

export class Painter {
  private hatch?: CanvasPattern | null
  // taken are the places of a strip that have words on them, from left to right.
  private taken: { from: number; to: number }[] = []
  private grid?: CanvasPattern | null

  constructor(private c: CanvasRenderingContext2D, private k: Look, private w: number, private v: View) {
    this.hatch = this.pattern(k.tones.warn, false)
    this.grid = this.pattern(k.muted, true)
  }

  private pattern(color: string, crossed: boolean) {
    const tile = document.createElement('canvas')
    tile.width = tile.height = 6
    const c = tile.getContext('2d')!
    c.strokeStyle = color
    c.globalAlpha = crossed ? 0.5 : 0.8
    c.lineWidth = 1.2
    c.beginPath()
    c.moveTo(-1, 7); c.lineTo(7, -1)
    c.moveTo(-4, 4); c.lineTo(4, -4)
    c.moveTo(2, 10); c.lineTo(10, 2)
    if (crossed) { c.moveTo(-1, -1); c.lineTo(7, 7) }
    c.stroke()
    return this.c.createPattern(tile, 'repeat')
  }

  x(t: number) { return (t - this.v.from) / this.v.span * this.w }

  strip(s: Strip, lit: Lit | undefined) {
    const { c } = this
    c.save()
    c.beginPath()
    c.rect(0, s.top, this.w, s.height)
    c.clip()
    if (s.lane.form !== 'bars') this.values(s)
    let end = -1e9 // where the last label ended
    const later = s.lane.marks.map(m => this.x(m.at))
    const bars: number[] = []
    const points: number[] = []
    s.lane.marks.forEach((m, i) => {
      const right = Math.max(this.x(m.until ?? m.at), later[i])
      if (right < -80 || later[i] > this.w + 20) return
      ;(m.shape === 'bar' || m.shape === 'hatched' || m.shape === 'absent' ? bars : points).push(i)
    })
    c.font = this.k.font
    c.textBaseline = 'middle'
    const labels = new Map<number, { text: string; x: number }>()
    this.taken = []
    points.forEach((i, j) => {
      const m = s.lane.marks[i]
      if (s.lane.form === 'heights') return
      this.taken.push({ from: later[i] - 7, to: later[i] + 7 })
      if (!m.label) return
      const text = m.count ? `${m.count}\u00d7 ${m.label}` : m.label
      const width = c.measureText(text).width
      const right = later[i] + 8 + width <= this.w
      const from = right ? later[i] + 8 : later[i] - 8 - width
      const to = from + width
      const next = points.slice(j + 1).find(n => later[n] > later[i] + 1)
      if (from < end || right && next !== undefined && later[next] - 7 < to) return
      if (!right && points.slice(0, j).some(n => later[n] + 7 > from)) return
      labels.set(i, { text, x: from })
      this.taken.push({ from, to })
      end = to
    })
    for (const i of [...bars, ...points]) {
      const m = s.lane.marks[i]
      c.globalAlpha = !lit || lit.has(m) ? 1 : 0.5
      this.mark(s, m)
    }
    c.globalAlpha = 1
    for (const [i, { text, x }] of labels) {
      const m = s.lane.marks[i]
      this.text(text, x, m.value !== undefined && s.lane.form !== 'bars' ? Math.max(this.y(s, m.value), s.top + 8) : s.top + s.height / 2, lit && !lit.has(m) ? this.k.muted : this.k.tones[m.tone === 'calm' ? 'plain' : m.tone])
    }
    c.restore()
  }

  private text(text: string, x: number, y: number, color: string) {
    const { c } = this
    c.lineWidth = 3
    c.lineJoin = 'round'
    c.strokeStyle = this.k.paper
    c.strokeText(text, x, y)
    c.fillStyle = color
    c.fillText(text, x, y)
  }

  private mark(s: Strip, m: Mark) {
    const { c, k } = this
    const x = this.x(m.at)
    const right = this.x(m.until ?? m.at)
    const middle = s.top + s.height / 2
    const y = m.value !== undefined && s.lane.form !== 'bars' ? this.y(s, m.value) : middle
    c.strokeStyle = c.fillStyle = k.tones[m.tone]
    c.lineWidth = 1.5
    switch (m.shape) {
      case 'bar': return this.bar(s, m, x, right)
      case 'hatched':
      case 'absent': {
        const w = Math.max(right - x, 2)
        c.fillStyle = (m.shape === 'hatched' ? this.hatch : this.grid) ?? k.muted
        c.fillRect(x, s.top + 6, w, s.height - 12)
        if (m.label) this.inside(m.label, x, right, middle, k.muted, true)
        return
      }
      case 'band': {
        c.fillStyle = k.fills[m.tone]
        const w = Math.max(right - x, 3)
        c.fillRect(x, y, w, s.top + s.height - 4 - y)
        c.fillStyle = k.tones[m.tone]
        c.fillRect(x, y, w, 1.5)
        if (m.count) this.inside(`${m.count}\u00d7`, x, right, s.top + s.height - 12, k.fg)
        return
      }
      case 'tick':
        if (s.lane.form === 'heights') {
          c.fillRect(x - 1, y, 2, s.top + s.height - 4 - y)
          c.fillRect(x - 2.5, y, 5, 2)
        } else c.fillRect(x - 1, middle - 6, 2, 12)
        return
      case 'cross': {
        if (s.lane.form === 'heights') { c.globalAlpha *= 0.55; c.fillRect(x - 0.5, y, 1, s.top + s.height - 4 - y); c.globalAlpha /= 0.55 }
        c.lineWidth = 2.2
        c.beginPath()
        c.moveTo(x - 4, y - 4); c.lineTo(x + 4, y + 4)
        c.moveTo(x + 4, y - 4); c.lineTo(x - 4, y + 4)
        c.stroke()
        return
      }
      case 'hollow':
        if (s.lane.form === 'heights') { c.globalAlpha *= 0.5; c.fillRect(x - 0.5, y + 4, 1, s.top + s.height - 8 - y); c.globalAlpha /= 0.5 }
        c.beginPath()
        c.arc(x, y, 4, 0, 7)
        c.fillStyle = k.paper
        c.fill()
        c.stroke()
        return
      case 'dot':
        c.beginPath()
        c.arc(x, y, 3.5, 0, 7)
        c.fill()
        return
      case 'diamond':
        c.beginPath()
        c.moveTo(x, y - 6); c.lineTo(x + 5, y); c.lineTo(x, y + 6); c.lineTo(x - 5, y)
        c.closePath()
        c.fillStyle = m.tone === 'plain' ? k.paper : k.tones[m.tone]
        c.fill()
        c.stroke()
        return
      case 'flag':
        c.fillRect(x - 0.75, middle - 8, 1.5, 16)
        c.beginPath()
        c.moveTo(x, middle - 8); c.lineTo(x + 8, middle - 4.5); c.lineTo(x, middle - 1)
        c.fill()
    }
  }

  private bar(s: Strip, m: Mark, x: number, right: number) {
    const { c, k } = this
    const w = Math.max(right - x, 1.5)
    const top = s.top + 5
    const h = s.height - 10
    c.fillStyle = k.fills[m.tone]
    c.beginPath()
    c.roundRect(x, top, w, h, Math.min(3, w / 2))
    c.fill()
    if (w > 5) {
      c.fillStyle = k.tones[m.tone]
      c.fillRect(x, top, 2, h)
    }
    if (m.label) this.inside(m.count ? `${m.count}\u00d7 ${m.label}` : m.label, x + 3, right, s.top + s.height / 2, k.fg)
  }

  // inside writes where there is room, in the part that is seen, and beside what else has
  // words there.
  private inside(text: string, x: number, right: number, y: number, color: string, hatched = false) {
    const { c } = this
    let from = Math.max(x, 0) + 4
    const to = Math.min(right, this.w) - 4
    c.font = this.k.font
    c.textBaseline = 'middle'
    const width = c.measureText(text).width
    for (const t of this.taken) {
      if (t.from > to) break
      if (t.from < from + width && t.to > from) from = t.to + 4
    }
    if (width > to - from) return
    c.fillStyle = c.globalAlpha < 1 ? this.k.muted : color
    c.globalAlpha = 1 // words stay legible where shapes are dim
    if (hatched) this.text(text, from, y, color)
    else c.fillText(text, from, y)
  }

  y(s: Strip, v: number) { return s.top + s.height - 4 - s.scale.y(v) * (s.height - 12) }

  private values(s: Strip) {
    const { c, k } = this
    c.fillStyle = k.line
    c.fillRect(0, s.top + s.height - 4, this.w, 1)
    const colors = [k.tones.calm, k.tones.warn, k.tones.good]
    const fills = [k.fills.calm, k.fills.warn, k.fills.good]
    ;(s.lane.curves ?? []).forEach((curve, i) => this.curve(s, curve, colors[i % 3], fills[i % 3]))
    for (const l of s.lane.limits ?? []) {
      const y = this.y(s, l.value)
      if (y < s.top) continue
      c.strokeStyle = k.tones.bad
      c.setLineDash([4, 3])
      c.lineWidth = 1
      c.beginPath()
      c.moveTo(this.x(l.from), y); c.lineTo(this.x(l.until), y)
      c.stroke()
      c.setLineDash([])
      c.font = k.font
      c.textBaseline = 'bottom'
      const text = `${l.name} ${amount(l.value, s.lane.unit)}`
      if (this.x(l.until) > 60 && this.x(l.from) < this.w) {
        c.textBaseline = 'top'
        this.text(text, Math.max(this.x(l.from), 0) + 4, Math.min(y + 2, s.top + s.height - 16), k.tones.bad)
      }
    }
  }

  private curve(s: Strip, curve: Curve, color: string, fill: string) {
    const { c } = this
    const floor = s.top + s.height - 4
    const line = () => {
      let open = false
      let lastX = 0
      const begun: number[] = []
      c.beginPath()
      for (const p of curve.points) {
        const x = this.x(p.t)
        const y = this.y(s, p.v)
        if (!open || p.b) {
          if (open && curve.style !== 'line') { c.lineTo(lastX, floor) }
          if (curve.style !== 'line') { c.moveTo(x, floor); c.lineTo(x, y) } else c.moveTo(x, y)
          begun.push(x)
        } else c.lineTo(x, y)
        open = true
        lastX = x
      }
      if (open && curve.style !== 'line') c.lineTo(lastX, floor)
    }
    line()
    if (curve.style !== 'line') {
      c.fillStyle = fill
      c.fill()
    }
    c.strokeStyle = color
    c.lineWidth = curve.style === 'part' ? 1 : 1.5
    c.stroke()
    // A look that is alone makes no line.
    if (curve.points.length < 40) {
      c.fillStyle = color
      for (const p of curve.points) {
        c.beginPath()
        c.arc(this.x(p.t), this.y(s, p.v), 1.8, 0, 7)
        c.fill()
      }
    }
  }
}

// hit finds the mark under a place on a strip, the nearest one of those that are small.
export function hit(s: Strip, p: Painter, x: number, y: number): number {
  let best = -1
  let nearest = 9
  let under = -1
  s.lane.marks.forEach((m, i) => {
    const from = p.x(m.at)
    const to = Math.max(p.x(m.until ?? m.at), from)
    if (m.shape === 'bar' || m.shape === 'hatched' || m.shape === 'absent' || m.shape === 'band') {
      if (x >= from - 1 && x <= to + 1) under = i
      return
    }
    const far = Math.abs(from - x) + (s.lane.form === 'heights' && m.value !== undefined ? Math.max(0, p.y(s, m.value) - y) * 0.1 : 0)
    if (far < nearest) { nearest = far; best = i }
  })
  return best >= 0 ? best : under
}
