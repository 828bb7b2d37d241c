import { h } from 'preact'
import { wellOrDone, type Doc, type Other } from './model'

// Others names the pods that the answer tells of and that have no lanes here, each with
// where its own page is.
export function Others({ doc }: { doc: Doc }) {
  const all = doc.others ?? []
  if (all.length === 0) return null
  return <section class="others" aria-label="Other pods">
    <h2>{all.length === 1 ? 'One more pod' : `${all.length} more pods`}, each with a page of its own</h2>
    <ul>{all.map(o => <li key={o.namespace + '/' + o.name}><Name o={o} page={doc.page} /> <span class={'symptom ' + (wellOrDone(o.symptom) ? 'good' : 'bad')}>{o.symptom}</span> {o.text}</li>)}</ul>
  </section>
}

function Name({ o, page }: { o: Other; page?: string }) {
  if (!page) return <code>kubectl why pod/{o.name}{o.namespace && ' -n ' + o.namespace} --web</code>
  const of = new URLSearchParams({ namespace: o.namespace ?? '', kind: 'pod', name: o.name })
  return <a href={page + '?' + of}>{o.name}</a>
}
