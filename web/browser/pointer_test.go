package browser

import (
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// seen is where the verdict's drawn chain is: its left end and its width, in pixels.
type seen struct{ Left, Width float64 }

func (b *tab) seen() seen {
	b.t.Helper()
	return eval[seen](b, `(() => {
		const xs = [...document.querySelector('.arrows .strong').getAttribute('d').matchAll(/(-?[\d.]+)[ ,]-?[\d.]+/g)].map(m => +m[1])
		return { Left: Math.min(...xs), Width: Math.max(...xs) - Math.min(...xs) }
	})()`)
}

// after waits for the next two frames: the page draws once in each.
func (b *tab) after() seen {
	b.t.Helper()
	eval[any](b, "window.drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true })); null")
	b.until("window.drawn")
	return b.seen()
}

func call[P any](b *tab, command cdp.Command[P, cdp.Empty], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// The mouse drags and its wheel zooms; one finger drags, and two zoom.
func TestPointers(t *testing.T) {
	d, _ := recorded(t, "slow-handler")
	b := open(t, 1280, 1000)
	b.show(d)
	call(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true})
	eval[any](b, "document.querySelector('.group canvas').scrollIntoView({ block: 'center' }); null")
	at := eval[struct{ X, Y float64 }](b, "(() => { const c = document.querySelector('.group canvas').getBoundingClientRect(); return { X: c.left + c.width / 2, Y: c.top + 10 } })()")
	mouse := func(kind input.DispatchMouseEventType, x float64, more func(*input.DispatchMouseEventParams)) {
		p := input.DispatchMouseEventParams{Type: kind, X: x, Y: at.Y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
		if more != nil {
			more(&p)
		}
		call(b, input.DispatchMouseEvent, p)
	}
	touch := func(kind input.DispatchTouchEventType, xs ...float64) {
		points := []*input.TouchPoint{}
		for i, x := range xs {
			id := float64(i)
			points = append(points, &input.TouchPoint{X: x, Y: at.Y, ID: &id})
		}
		call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
	}
	expect := func(what string, panned, zoomed bool, do func()) {
		t.Helper()
		before := b.after()
		do()
		got := b.after()
		if wider := got.Width > before.Width*1.2; wider != zoomed {
			t.Errorf("%s: the chain is %.0f px wide, and was %.0f", what, got.Width, before.Width)
		}
		if moved := got.Left > before.Left+30; panned && !moved {
			t.Errorf("%s: the chain begins at %.0f px, and began at %.0f", what, got.Left, before.Left)
		}
		b.do(chromedp.Focus(chromedp.CSS(".groups")), chromedp.KeyEvent("t"))
	}
	expect("dragging with the mouse", true, false, func() {
		mouse(input.DispatchMouseEventTypeMousePressed, at.X, nil)
		for _, x := range []float64{20, 40, 60, 80} {
			mouse(input.DispatchMouseEventTypeMouseMoved, at.X+x, nil)
		}
		mouse(input.DispatchMouseEventTypeMouseReleased, at.X+80, nil)
	})
	expect("Ctrl and the wheel", false, true, func() {
		mouse(input.DispatchMouseEventTypeMouseWheel, at.X, func(p *input.DispatchMouseEventParams) { p.Modifiers, p.DeltaX, p.DeltaY, p.Buttons = 2, 0.1, -300, 0 })
	})
	expect("Shift and the wheel", true, false, func() {
		mouse(input.DispatchMouseEventTypeMouseWheel, at.X, func(p *input.DispatchMouseEventParams) { p.Modifiers, p.DeltaX, p.DeltaY, p.Buttons = 8, -80, 0.1, 0 })
	})
	expect("one finger", true, false, func() {
		touch(input.DispatchTouchEventTypeTouchStart, at.X)
		for _, x := range []float64{20, 40, 60, 80} {
			touch(input.DispatchTouchEventTypeTouchMove, at.X+x)
		}
		touch(input.DispatchTouchEventTypeTouchEnd)
	})
	expect("two fingers", false, true, func() {
		touch(input.DispatchTouchEventTypeTouchStart, at.X-40, at.X+40)
		for _, apart := range []float64{60, 80, 100} {
			touch(input.DispatchTouchEventTypeTouchMove, at.X-apart, at.X+apart)
		}
		touch(input.DispatchTouchEventTypeTouchEnd)
	})
	b.calm()
}
