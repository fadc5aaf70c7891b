/** The first screen of a page: what was run, where and when, and what it found. */
import {html, type Markup, nameMarkup, prose, raw} from './markup.js'

/** One run, or one document, on the first screen. */
export interface PageRun {
  title: string
  /** In words, a sentence. */
  what: string
  /** When, where, at what commit: name and value. */
  facts: readonly (readonly [string, string])[]
  /** Sentences, the most telling first. */
  findings: readonly string[]
  /** What is not there that was planned, a sentence each. */
  missing: readonly string[]
}

/** Sentences that are shown at once; the others fold. */
const SHOWN_AT_ONCE = 6
/** Most sentences of a page. */
const MOST = 200

/** The card of a run. @param alone - the page is of nothing else and has its title already */
export function runCard(run: PageRun, alone: boolean): Markup {
  const {title, what, facts, findings, missing} = run
  return html`<section class="card">
${alone ? raw('') : html`<h2>${nameMarkup(title)}</h2>`}
<p>${prose(what)}</p>
${missing.map(sentence => html`<p class="missing"><strong>Incomplete:</strong> ${prose(sentence)}</p>`)}
${findingsMarkup(findings, raw(alone ? 'h2' : 'h3'))}
${factsMarkup(facts)}
</section>`
}

function findingsMarkup(findings: readonly string[], tag: Markup): Markup {
  if (findings.length === 0) return raw('')
  const first = findings.slice(0, SHOWN_AT_ONCE)
  const others = findings.slice(SHOWN_AT_ONCE, MOST)
  return html`<${tag} class="found">What it found</${tag}>
<ul class="findings">${first.map(item)}</ul>${more(others, findings.length - MOST)}`
}

function more(others: readonly string[], beyond: number): Markup {
  if (others.length === 0) return raw('')
  const rest = beyond > 0 ? html`<p>${beyond} more are in the tables below.</p>` : raw('')
  return html`<details><summary>${others.length} more</summary><ul class="findings">${others.map(item)}</ul>${rest}</details>`
}

function item(sentence: string): Markup {
  return html`<li>${prose(sentence)}</li>`
}

function factsMarkup(facts: PageRun['facts']): Markup {
  if (facts.length === 0) return raw('')
  return html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${prose(value)}</dd></div>`)}</dl>`
}
