/** A report as one file that any browser opens: no network, no other files. */
import {createHash} from 'node:crypto'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {packageRoot} from '../../package.js'
import type {Block} from '../document.js'
import {printable} from '../printable.js'
import {blocksMarkup, type Section} from './blocks.js'
import {commandMarkup, html, type Markup, nameMarkup, PAGE_START, prose, raw} from './markup.js'
import {type PageRun, runCard} from './summary.js'

/** What a page says in addition to its blocks. */
export interface PageFacts {
  title: string
  /** One for each run or document. */
  runs: readonly PageRun[]
  /** The command that makes the page again. */
  command: string
  /** What made it, with its version. */
  generator: string
}

/** A page needs no table of contents up to here. */
const FEW_SECTIONS = 2

/**
 * Renders a report; ends with one newline. Whatever comes from records stays text: it is escaped in one place, and the
 * policy of the page lets no script run but its own.
 */
export async function renderHtml(blocks: readonly Block[], facts: PageFacts): Promise<string> {
  const {style, script} = pageAssets()
  const {body, sections} = blocksMarkup(blocks, await drawerOf(blocks))
  const page = html`${raw(PAGE_START)}
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="${facts.generator}">
<meta name="color-scheme" content="light dark">
<title>${printable(facts.title)}</title>
<style>${raw(style)}</style>
</head>
<body>
${header(facts)}
${contents(sections)}
<main>
${body}
</main>
<footer><p>Made by ${facts.generator}. This page again: ${commandMarkup(printable(facts.command))}</p></footer>
${scriptMarkup(script)}
</body>
</html>
`
  return page.text
}

interface PageAssets {
  style: string
  script: string
}

/** The style sheet and the script of pages, as `npm run build` leaves them in dist/page. */
export function pageAssets(): PageAssets {
  const read = (name: string) => readFileSync(join(packageRoot(), 'dist', 'page', name), 'utf8')
  return {style: read('page.css'), script: read('page.js')}
}

async function drawerOf(blocks: readonly Block[]) {
  if (!blocks.some(({kind}) => kind === 'figure')) return undefined
  return (await import('./figure.js')).figureMarkup
}

/** Bundlers rewrite templates that close a script, as if they stood in a page themselves. */
function scriptMarkup(script: string): Markup {
  return raw(`<script>${script}</script>`)
}

function header({title, runs}: PageFacts): Markup {
  return html`<header>
<h1>${nameMarkup(printable(title))}</h1>
${runs.map(run => runCard(printableRun(run), runs.length === 1))}
</header>`
}

function printableRun({title, what, facts, findings, missing}: PageRun): PageRun {
  return {
    title: printable(title),
    what: printable(what),
    facts: facts.map(([name, value]) => [name, printable(value)] as const),
    findings: findings.map(printable),
    missing: missing.map(printable),
  }
}

function contents(sections: readonly Section[]): Markup {
  const shown = sections.filter(({level}) => level < 3)
  if (shown.length <= FEW_SECTIONS) return raw('')
  const items = shown.map(
    ({id, level, text}) =>
      html`<li class="${level === 2 ? 'contents deeper' : 'contents'}"><a href="#${id}">${prose(text)}</a></li>`,
  )
  return html`<nav aria-label="Contents"><details open><summary>Contents</summary><ul>${items}</ul></details></nav>`
}

/** Nothing is fetched, and of scripts only this one runs. Drawings have styles in attributes. */
function policy(script: string): string {
  const hash = createHash('sha256').update(script).digest('base64')
  return [
    `default-src 'none'`,
    `script-src 'sha256-${hash}'`,
    `style-src 'unsafe-inline'`,
    `base-uri 'none'`,
    `form-action 'none'`,
  ].join('; ')
}
