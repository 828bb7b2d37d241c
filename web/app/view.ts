// What part of the clock is seen. It changes many times a second while somebody drags,
// so it is no part of what Preact compares: who draws listens.

export class View {
  from: number
  until: number
  private listeners = new Set<() => void>()
  private due = 0

  constructor(public first: number, public last: number, from: number, until: number) {
    this.from = from
    this.until = until
  }

  get span() { return this.until - this.from }

  // set moves to a time, within what there is and a little beyond.
  set(from: number, until: number) {
    const margin = Math.max((this.last - this.first) * 0.02, 50)
    const whole = this.last - this.first + 2 * margin
    let width = Math.min(Math.max(until - from, 5), whole)
    if (width === whole) { from = this.first - margin }
    from = Math.min(Math.max(from, this.first - margin), this.last + margin - width)
    this.from = from
    this.until = from + width
    this.changed()
  }

  // zoom keeps what is under a place, a share of the width.
  zoom(by: number, around = 0.5) {
    const at = this.from + this.span * around
    const width = this.span / by
    this.set(at - width * around, at + width * (1 - around))
  }

  pan(share: number) { this.set(this.from + this.span * share, this.until + this.span * share) }

  all() { this.set(this.first - 1e15, this.last + 1e15) }

  // show moves as little as is needed to see a time.
  show(from: number, until: number) {
    const margin = this.span * 0.08
    if (until - from > this.span * 0.9) {
      this.set(from - (until - from) * 0.1, until + (until - from) * 0.1)
    } else if (from < this.from + margin || until > this.until - margin) {
      const middle = (from + until) / 2
      this.set(middle - this.span / 2, middle + this.span / 2)
    }
  }

  // changed has everybody draw, once before the next frame.
  changed() {
    if (this.due) return
    this.due = requestAnimationFrame(() => {
      this.due = 0
      this.listeners.forEach(l => l())
    })
  }

  listen(l: () => void): () => void {
    this.listeners.add(l)
    return () => { this.listeners.delete(l) }
  }
}
