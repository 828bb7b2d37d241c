// Times and values in words.

export type Clock = 'utc' | 'local' | 'relative'

const two = (n: number) => String(n).padStart(2, '0')
const three = (n: number) => String(n).padStart(3, '0')

function parts(t: number, clock: Clock) {
  const d = new Date(t)
  return clock === 'utc'
    ? { y: d.getUTCFullYear(), mo: d.getUTCMonth() + 1, d: d.getUTCDate(), h: d.getUTCHours(), m: d.getUTCMinutes(), s: d.getUTCSeconds(), ms: d.getUTCMilliseconds() }
    : { y: d.getFullYear(), mo: d.getMonth() + 1, d: d.getDate(), h: d.getHours(), m: d.getMinutes(), s: d.getSeconds(), ms: d.getMilliseconds() }
}

export function day(t: number, clock: Clock): string {
  const p = parts(t, clock)
  return `${p.y}-${two(p.mo)}-${two(p.d)}`
}

// time is a moment to the millisecond; relative ones count from zero.
export function time(t: number, clock: Clock, zero: number): string {
  if (clock === 'relative') return (t < zero ? '\u2212' : '+') + span(Math.abs(t - zero), true)
  const p = parts(t, clock)
  return `${two(p.h)}:${two(p.m)}:${two(p.s)}.${three(p.ms)}`
}

// span is a length of time in words of two units at most.
export function span(ms: number, fine = false): string {
  if (ms < 1) return `${+ms.toFixed(2)} ms`
  if (ms < 1000) return `${Math.round(ms * 10) / 10} ms`
  const s = ms / 1000
  if (s < 60) return `${s.toFixed(fine ? 3 : s < 10 ? 1 : 0)} s`
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 2 * 864e5, 7 * 864e5]

// ticks are the moments that the axis names, about so many.
export function ticks(from: number, until: number, most: number, clock: Clock, zero: number): { t: number; text: string; day?: string }[] {
  const step = steps.find(s => (until - from) / s <= most) ?? steps[steps.length - 1]
  const shift = clock === 'relative' ? zero : clock === 'local' ? new Date(from).getTimezoneOffset() * 6e4 : 0
  const out = []
  let last = ''
  for (let t = Math.ceil((from - shift) / step) * step + shift; t <= until; t += step) {
    let text: string
    let today: string | undefined
    if (clock === 'relative') {
      text = t === zero ? '0' : (t < zero ? '\u2212' : '+') + span(Math.abs(t - zero))
    } else {
      const p = parts(t, clock)
      text = `${two(p.h)}:${two(p.m)}` + (step < 6e4 ? `:${two(p.s)}` : '') + (step < 1e3 ? `.${three(p.ms)}` : '')
      if (day(t, clock) !== last) today = last = day(t, clock)
    }
    out.push({ t, text, day: today })
  }
  return out
}

const units = ['', 'Ki', 'Mi', 'Gi', 'Ti']

// amount words a value in its unit.
export function amount(v: number, unit?: string): string {
  switch (unit) {
    case 'bytes': {
      let i = 0
      while (v >= 1024 && i < units.length - 1) { v /= 1024; i++ }
      return `${+v.toFixed(v < 10 && i > 0 ? 1 : 0)}${units[i] || ' B'}`
    }
    case 'ms': return span(v)
    case 'share': return `${+(v * 100).toFixed(v < 0.1 ? 1 : 0)} %`
    case 'cores': return `${+v.toFixed(v < 0.1 ? 3 : 2)} CPU`
  }
  return `${+v.toFixed(2)}`
}
